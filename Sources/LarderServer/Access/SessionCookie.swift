import Larder

/// The session of a browser: when it ends, and a code that only the holder of the token can make. Nothing is kept on
/// the server, and a new token ends every session.
package enum SessionCookie {
    package static let name = "larder_session"
    /// Seconds: thirty days.
    package static let lifetime: Int64 = 30 * 86_400

    package static func make(token: Secret, now: Timestamp) -> String {
        let end = now.adding(seconds: lifetime).milliseconds / 1000
        return "\(end).\(code(end, token))"
    }

    package static func isValid(_ value: String, token: Secret, now: Timestamp) -> Bool {
        let parts = value.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let end = Int64(parts[0]), String(end) == parts[0],
            constantTimeEqual(Array(parts[1].utf8), Array(code(end, token).utf8))
        else { return false }
        return end > now.milliseconds / 1000
    }

    /// The field that gives it to a browser. `Secure` where the client came over TLS, as a proxy says.
    package static func field(_ value: String, isSecure: Bool, age: Int64 = lifetime) -> String {
        "\(name)=\(value); Path=/; Max-Age=\(age); HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
    }

    package static func value(in fields: HTTPFields) -> String? {
        for field in fields.values("Cookie") {
            for pair in field.split(separator: ";") {
                let pair = pair.drop { $0 == " " }
                if pair.hasPrefix(name + "=") { return String(pair.dropFirst(name.count + 1)) }
            }
        }
        return nil
    }

    private static func code(_ end: Int64, _ token: Secret) -> String {
        HMAC.code(.sha256, key: token.bytes, Array("larder session 1 \(end)".utf8)).hex
    }
}
