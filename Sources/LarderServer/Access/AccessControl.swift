import Larder

/// Who may have what. Immutable: a reload of the keys makes a new one.
///
/// Without token and key everything is open to whoever reaches the port, which only loopback allows. With either,
/// everything but the health check and signed paths wants the token.
package struct AccessControl: Sendable {
    package var token: Secret?
    package var signer: URLSigner?

    package init(token: Secret? = nil, signer: URLSigner? = nil) {
        self.token = token
        self.signer = signer
    }

    /// Whether anything is asked of clients.
    package var isOpen: Bool { token == nil && signer == nil }

    /// How a client has proved itself.
    package enum Standing: Sendable, Hashable, Comparable {
        case anonymous
        /// A browser that logged in.
        case session
        /// A program that sends the token itself: no other site can make a browser do that.
        case bearer
    }

    package func standing(of fields: HTTPFields, now: Timestamp) -> Standing {
        guard let token else { return .anonymous }
        if let given = fields["Authorization"] {
            let words = given.split(separator: " ", maxSplits: 1)
            if words.count == 2, String(words[0]).equalsIgnoringCase("Bearer"),
                token.matches(String(words[1].drop { $0 == " " }))
            {
                return .bearer
            }
        }
        if let cookie = SessionCookie.value(in: fields), SessionCookie.isValid(cookie, token: token, now: now) {
            return .session
        }
        return .anonymous
    }

    /// - Throws: 401 where a token would help, 403 where nothing would.
    package func check(_ route: Route, _ standing: Standing) throws(Problem) {
        switch route {
        // The gallery's page holds nothing of the cache: it asks for the token itself.
        case .health, .logout, .gallery: return
        case .login:
            guard token != nil else { throw Problem(403, "no_token", "This server has no token to log in with.") }
            guard standing == .bearer else { throw .unauthorized("The token is wrong.") }
        case .removeEntry:
            guard token != nil else {
                throw Problem(403, "no_token", "Removing wants a token: start the server with --token-file.")
            }
            guard standing == .bearer else {
                throw .unauthorized("Removing wants the header 'Authorization: Bearer TOKEN'; a session is not enough.")
            }
        case .image(_, _, .signature): return
        case .image(_, _, .unsafe) where signer != nil:
            throw Problem(403, "signature_required", "This server has a key: sign the path in place of /unsafe/.")
        default:
            guard !isOpen, standing == .anonymous else { return }
            guard token != nil else {
                throw Problem(
                    403, "no_token",
                    "With a key alone, this server gives signed paths only. Start it with --token-file too.")
            }
            throw .unauthorized("This wants the header 'Authorization: Bearer TOKEN', or a session.")
        }
    }

    /// Whether a shared cache between us and the client may keep an answer: not where it was given on the client's word.
    package func allowsSharedCaching(_ route: Route) -> Bool {
        if case .image(_, _, .signature) = route { return true }
        return isOpen
    }
}
