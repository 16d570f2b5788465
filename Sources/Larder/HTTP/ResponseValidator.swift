/// Looks at a body while it arrives: the header parser and the hash of the image, seen from the network.
public protocol BodyInspector: Sendable {
    /// The next bytes, in order. Throwing ends the transfer.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(ImageError)
    /// The body has ended. Throwing makes the whole response a failure.
    mutating func finish() throws(ImageError)
}

/// Judges one response: its status, its announced length, its emptiness, its length as received, and then whatever the
/// inspector sees in the bytes. The first objection is thrown, and the transfer should then be cancelled.
///
///     var validator = try ResponseValidator(
///         status: response.status, fields: response.fields, maxBytes: 50_000_000, inspector: inspector)
///     while let bytes = try await response.body.next() {
///         try bytes.withUnsafeBytes { try validator.receive($0) }
///     }
///     try validator.finish()
public struct ResponseValidator<Inspector: BodyInspector>: Sendable {
    /// The most bytes that a body may have.
    public let maxBytes: Int
    /// The bytes received so far.
    public private(set) var bytes = 0
    /// Has seen every byte that was received.
    public private(set) var inspector: Inspector
    private let declared: Int?
    private static var codings: Set<String> { ["gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress"] }

    /// - Throws: ``ImageError/httpStatus(_:_:)`` for a status that brings no image: all but 2xx, and of these 204, 205
    ///   and 206 (which nobody asked for); ``ImageError/tooLarge(_:)`` where more than `maxBytes` are announced;
    ///   ``ImageError/notAnImage(_:)`` where none are; ``ImageError/unsupportedFormat(_:)`` for a content coding
    ///   (gzip …), although none was asked for.
    public init(
        status: Int, fields: HTTPFields, maxBytes: Int, inspector: Inspector
    ) throws(ImageError) {
        guard (200...299).contains(status), ![204, 205, 206].contains(status) else {
            throw .httpStatus(status, .init("status \(status)"))
        }
        let length = fields.values("Content-Length").last
        declared = length.flatMap { Int($0) }
        // More digits than an integer holds are too many; other words count as none, the transport has judged them.
        let isTooLong = declared.map { $0 > maxBytes } ?? length?.utf8.allSatisfy { (48...57).contains($0) } ?? false
        if isTooLong, let length, !length.isEmpty {
            throw .tooLarge(.init("\(length.prefix(30)) bytes announced, the limit is \(maxBytes)"))
        }
        if declared == 0 { throw .notAnImage(.init("the body is empty")) }
        // Refused, not decoded: nobody asked for it, and what one transport decodes in silence another does not. Other
        // words stand there by mistake, and the image's own bytes are the judge.
        let codings = (fields["Content-Encoding"] ?? "").lowercased().split(whereSeparator: { ", \t".contains($0) })
        if let coding = codings.first(where: { Self.codings.contains(String($0)) }) {
            throw .unsupportedFormat(.init("Content-Encoding \(coding), although identity was asked for"))
        }
        self.maxBytes = maxBytes
        self.inspector = inspector
    }

    /// - Throws: ``ImageError/tooLarge(_:)`` beyond `maxBytes`, and what the inspector throws.
    public mutating func receive(_ chunk: UnsafeRawBufferPointer) throws(ImageError) {
        bytes += chunk.count
        guard bytes <= maxBytes else {
            throw .tooLarge(.init("more than \(maxBytes) bytes"))
        }
        try inspector.receive(chunk)
    }

    /// The same for an array.
    public mutating func receive(_ chunk: [UInt8]) throws(ImageError) {
        try chunk.withUnsafeBufferPointer { (chunk) throws(ImageError) in
            try receive(UnsafeRawBufferPointer(chunk))
        }
    }

    /// - Throws: ``ImageError/notAnImage(_:)`` for no bytes at all, ``ImageError/truncated(_:)`` for fewer than
    ///   announced, and what the inspector throws: a body whose end is the connection's is judged by the image's own.
    public mutating func finish() throws(ImageError) {
        guard bytes > 0 else { throw .notAnImage(.init("the body is empty")) }
        if let declared, bytes < declared {
            throw .truncated(.init("\(bytes) of \(declared) bytes"))
        }
        try inspector.finish()
    }
}
