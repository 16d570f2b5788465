import Glibc

/// Tells what an image is and whether it is whole. Blocking: run it on an executor for blocking work.
public enum ImageInspector {
    /// Inspects bytes in memory.
    ///
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - deep: also decodes every pixel of a JPEG or PNG. For formats that this build cannot decode the structure is
    ///     checked in any case.
    ///   - limits: what the image may cost.
    ///   - abort: ends a deep inspection from another thread.
    public static func inspect(
        _ bytes: UnsafeRawBufferPointer, deep: Bool = false, limits: ImageLimits = ImageLimits(),
        abort: AbortFlag? = nil
    ) -> ImageFacts {
        var facts = ImageFacts(bytes: bytes.count)
        var format: ImageFormat?
        do throws(ImageError) {
            var parser = HeaderParser(limits: limits)
            defer { format = parser.format }
            if case .header(let found) = try parser.feed(bytes) { facts.header = found }
            facts.header = try parser.finish()
            try check(bytes, deep: deep, limits: limits, abort: abort, &facts)
        } catch {
            facts.error = error
        }
        facts.format = format
        return facts
    }

    /// Inspects a file, or standard input for a path of `-`.
    ///
    /// Without `deep`, no more of a JPEG or PNG file is read than its header. A file that cannot be read gives
    /// ``ImageError/unreachable(_:)``.
    public static func inspect(
        path: String, deep: Bool = false, limits: ImageLimits = ImageLimits(), abort: AbortFlag? = nil
    ) -> ImageFacts {
        var facts = ImageFacts(bytes: 0)
        var format: ImageFormat?
        do throws(ImageError) {
            let file = try InspectedFile(path)
            var parser = HeaderParser(limits: limits)
            defer { format = parser.format }
            var start = [UInt8]()
            facts.bytes = file.size ?? 0
            while facts.header == nil, try file.read(into: &start) > 0 {
                try bound(start, limits)
                let fresh = file.lastRead
                let progress: Result<HeaderParser.Progress, ImageError> = start.withUnsafeBytes { bytes in
                    do throws(ImageError) {
                        return .success(try parser.feed(UnsafeRawBufferPointer(rebasing: bytes.suffix(fresh))))
                    } catch {
                        return .failure(error)
                    }
                }
                if case .header(let header) = try progress.get() { facts.header = header }
            }
            if facts.header == nil { facts.header = try parser.finish() }
            if let size = file.size, let least = parser.leastLength, size < least {
                throw .truncated(.init("\(size) bytes of at least \(least)"))
            }
            let isCodec = facts.header?.format == .jpeg || facts.header?.format == .png
            let needsWhole = isCodec ? deep : facts.header?.format.reader.checksWhole == true
            if needsWhole || file.size == nil {
                while try file.read(into: &start) > 0 { try bound(start, limits) }
                facts = start.withUnsafeBytes { inspect($0, deep: deep, limits: limits, abort: abort) }
            }
        } catch {
            facts.error = error
        }
        facts.format = format
        return facts
    }

    private static func bound(_ bytes: [UInt8], _ limits: ImageLimits) throws(ImageError) {
        guard bytes.count <= limits.maxDecodeBytes else {
            throw .tooLarge(.init("the file has more than \(limits.maxDecodeBytes) bytes"))
        }
    }

    private static func check(
        _ bytes: UnsafeRawBufferPointer, deep: Bool, limits: ImageLimits, abort: AbortFlag?, _ facts: inout ImageFacts
    ) throws(ImageError) {
        guard var header = facts.header else { return }
        switch header.format {
        case .jpeg, .png:
            if deep { try ImageDecoder.verify(bytes, header: header, limits: limits, abort: abort) }
        default:
            try header.format.reader.check(bytes, &header)
            facts.header = header
            try limits.check(header)
        }
    }
}

/// A file that is read from its start, in pieces.
private final class InspectedFile {
    private let descriptor: Int32
    private let path: String
    /// Bytes, or nil for what is no regular file.
    let size: Int?
    private(set) var lastRead = 0
    private let piece: UnsafeMutableRawBufferPointer

    init(_ path: String) throws(ImageError) {
        self.path = path
        descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(path, errno) }
        // Not before: nobody frees what an initialiser that throws has allocated.
        piece = .allocate(byteCount: 64 << 10, alignment: 16)
        var status = stat()
        let isRegular = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        size = isRegular ? Int(status.st_size) : nil
    }

    deinit {
        close(descriptor)
        piece.deallocate()
    }

    /// Appends up to 64 KiB and gives their number; 0 at the end.
    func read(into bytes: inout [UInt8]) throws(ImageError) -> Int {
        var count: Int
        repeat {
            count = Glibc.read(descriptor, piece.baseAddress, piece.count)
        } while count < 0 && errno == EINTR
        guard count >= 0 else { throw Self.failure(path, errno) }
        bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: piece[..<count]))
        lastRead = count
        return count
    }

    private static func failure(_ path: String, _ code: Int32) -> ImageError {
        .unreachable(.init("\(path) cannot be read: \(String(cString: strerror(code)))", isTransient: false))
    }
}
