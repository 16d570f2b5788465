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
