// libFuzzer: every byte string through the header parser, at once and in two pieces; both must agree.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHeaders(_ start: UnsafeRawPointer, _ count: Int) -> Int32 {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    let limits = ImageLimits(maxPixels: 1 << 24, maxMetadataBytes: 1 << 20)
    let cut = count > 0 ? Int(bytes[count - 1]) * count / 256 : 0
    let whole = parse([bytes], limits)
    let pieces = parse(
        [UnsafeRawBufferPointer(rebasing: bytes[..<cut]), UnsafeRawBufferPointer(rebasing: bytes[cut...])], limits)
    // Not a precondition: its message is left out of optimized builds.
    guard whole == pieces else { fatalError("cut at \(cut): \(whole) at once, \(pieces) in pieces") }
    _ = ImageInspector.inspect(bytes, limits: limits)
    return 0
}

private func parse(_ pieces: [UnsafeRawBufferPointer], _ limits: ImageLimits) -> String {
    var parser = HeaderParser(limits: limits)
    do throws(ImageError) {
        for piece in pieces {
            if case .header(let header) = try parser.feed(piece) { return "\(header)" }
        }
        // A file that is shorter than its header says has an error at its end only.
        return "\(try parser.finish())"
    } catch {
        return error.code
    }
}
