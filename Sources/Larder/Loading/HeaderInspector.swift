/// Judges an image while it arrives: refuses early what is no image, too large or filtered, and at the end what is
/// not whole.
package struct HeaderInspector: BodyInspector {
    let limits: ImageLimits
    let filter: ImageFilter?
    private var parser: HeaderParser
    private var end: EndScanner?
    /// What came before the format was known, for the end scanner.
    private var prefix: [UInt8] = []
    /// The header, once its bytes have come.
    package private(set) var header: ImageHeader?

    package init(limits: ImageLimits, filter: ImageFilter? = nil) {
        self.limits = limits
        self.filter = filter
        parser = HeaderParser(limits: limits)
    }

    package mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
        let progress = try parser.feed(bytes)
        follow(bytes)
        if header == nil, case .header(let found) = progress { try accept(found) }
    }

    package mutating func finish() throws(ImageError) {
        let found = try parser.finish()
        if header == nil { try accept(found) }
        // A connection that was closed early looks like a whole response where no length was announced, and some
        // servers announce the length of what they have: the image's own end decides.
        if end?.isComplete == false {
            throw .truncated(.init("the \(found.format.rawValue.uppercased()) has no end"))
        }
    }

    private mutating func accept(_ found: ImageHeader) throws(ImageError) {
        header = found
        try filter?.check(found)
    }

    private mutating func follow(_ bytes: UnsafeRawBufferPointer) {
        if end == nil {
            guard let format = parser.format else {
                prefix.append(contentsOf: bytes)
                return
            }
            end = EndScanner(format)
            prefix.withUnsafeBytes { end?.feed($0) }
            prefix = []
        }
        end?.feed(bytes)
    }
}
