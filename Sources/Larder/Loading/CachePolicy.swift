/// How a request uses what is stored. One line to choose.
public enum CachePolicy: Sendable, Hashable {
    /// As RFC 9111 says for a private cache: fresh entries are used, stale ones revalidated. The default.
    case http
    /// What is stored is good whatever its age: most image URLs name one picture for ever.
    case immutable
    /// Fetch anew and replace what is stored.
    case reload
    /// Ask the server whether what is stored is still good, even where it is fresh.
    case revalidate
    /// Never use the network; an entry stale by up to `maxStale` seconds will do (nil: by any time).
    case offlineOnly(maxStale: Double? = nil)
}
