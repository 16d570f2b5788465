/// Which request fields are credentials.
package enum Credentials {
    private static let names: Set<String> = ["authorization", "cookie", "proxy-authorization"]
    /// Words in the names of fields by which APIs pass secrets, such as `X-Api-Key` and `X-Auth-Token`.
    private static let words = ["auth", "token", "key", "secret", "session", "credential", "signature", "password"]

    package static func isCredential(_ name: String) -> Bool {
        let name = name.lowercased()
        return names.contains(name) || words.contains { name.contains($0) }
    }
}
