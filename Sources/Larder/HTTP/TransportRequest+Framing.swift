extension TransportRequest {
    /// Refuses what would break the request's framing: a field with a line end in it would smuggle another in.
    ///
    /// - Throws: ``ImageError/invalidURL(_:)``.
    package func checkFraming() throws(ImageError) {
        guard method.isToken else {
            throw .invalidURL(.init("the method is no token (RFC 9110 §9.1)", url: url.withoutUserInfo))
        }
        for field in fields.fields {
            guard field.name.isToken, field.value.utf8.allSatisfy({ $0 != 0 && $0 != 10 && $0 != 13 }) else {
                throw .invalidURL(
                    .init("the request's field \(field.name.debugDescription) is malformed", url: url.withoutUserInfo))
            }
        }
    }
}

extension String {
    fileprivate var isToken: Bool { !isEmpty && utf8.allSatisfy { $0.isToken } }
}

extension UInt8 {
    /// Whether the byte may stand in a token (RFC 9110 §5.6.2).
    package var isToken: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: true
        default: false
        }
    }
}
