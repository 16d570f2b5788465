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
///     var validator = try ResponseValidator(response, maxBytes: limit, inspector: parser)
///     while let bytes = try await response.body.next() { try bytes.withUnsafeBytes { try validator.receive($0) } … }
///     try validator.finish()
public struct ResponseValidator<Inspector: BodyInspector>: Sendable {
    /// The most bytes that a body may have.
    public let maxBytes: Int
    /// The bytes received so far.
    public private(set) var bytes = 0
    public private(set) var inspector: Inspector
    private let declared: Int?

    /// - Throws: ``ImageError/httpStatus(_:_:)`` for a status that brings no image: all but 2xx, and of these 204, 205
    ///   and 206 (which nobody asked for); ``ImageError/tooLarge(_:)`` where more than `maxBytes` are announced;
    ///   ``ImageError/notAnImage(_:)`` where none are; ``ImageError/unsupportedFormat(_:)`` for a content coding that
    ///   the transport has not undone.
    public init(
        status: Int, fields: HTTPFields, maxBytes: Int, inspector: Inspector
    ) throws(ImageError) {
        guard (200...299).contains(status), ![204, 205, 206].contains(status) else {
            throw .httpStatus(status, .init("status \(status)"))
        }
        // A length that cannot be read counts as none: the transport has judged it already.
        declared = fields.values("Content-Length").last.flatMap { Int($0) }
        if let declared, declared > maxBytes {
            throw .tooLarge(.init("\(declared) bytes announced, the limit is \(maxBytes)"))
        }
        if declared == 0 { throw .notAnImage(.init("the body is empty")) }
        if let coding = fields["Content-Encoding"], !coding.isEmpty, !coding.equalsIgnoringCase("identity") {
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
