/// Judges a body while it comes: an image with all that an image must satisfy, or any content within its bounds.
struct BodyCheck: Sendable {
    private enum Kind {
        case image(ResponseValidator<HeaderInspector>)
        case any
    }

    private var kind: Kind
    private let maxBytes: Int
    /// What `Content-Length` announces; nil where it says nothing, or the answer has no body.
    let declared: Int?
    /// Bytes that must have come at the end, those of a kept beginning apart.
    private let expected: Int?
    private var count = 0

    /// - Parameters:
    ///   - partial: the beginning that the body continues.
    ///   - total: the length of the whole, from `Content-Range`.
    init(
        _ request: FetchRequest, _ response: HTTPResponse, partial: Beginning?, total: Int?
    ) throws(ImageError) {
        let length = response.fields.values("content-length").last.flatMap { Int($0) }
        declared = request.method == "HEAD" || [204, 304].contains(response.status) ? nil : length
        maxBytes = request.maxBytes
        guard case .image(let limits, let filter) = request.content else {
            if let declared, declared > maxBytes {
                throw .tooLarge(.init("\(declared) bytes announced, the limit is \(maxBytes)"))
            }
            kind = .any
            expected = declared
            return
        }
        if let partial, let total {
            guard total <= maxBytes else {
                throw .tooLarge(.init("\(total) bytes announced, the limit is \(maxBytes)"))
            }
            expected = total - partial.count
            kind = .image(
                try ResponseValidator(status: 200, fields: [:], maxBytes: maxBytes, inspector: partial.inspector))
        } else {
            expected = nil
            kind = .image(
                try ResponseValidator(
                    status: response.status, fields: response.fields, maxBytes: maxBytes,
                    inspector: HeaderInspector(limits: limits, filter: filter)))
        }
    }

    var header: ImageHeader? { if case .image(let validator) = kind { validator.inspector.header } else { nil } }

    mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
        count += bytes.count
        switch kind {
        case .image(var validator):
            // Taken out, so that the value is not copied while it changes.
            kind = .any
            defer { kind = .image(validator) }
            try validator.receive(bytes)
        case .any:
            guard count <= maxBytes else { throw .tooLarge(.init("more than \(maxBytes) bytes")) }
        }
    }

    mutating func finish() throws(ImageError) {
        if let expected, count < expected { throw .truncated(.init("\(count) of \(expected) bytes")) }
        guard case .image(var validator) = kind else { return }
        defer { kind = .image(validator) }
        try validator.finish()
    }
}
