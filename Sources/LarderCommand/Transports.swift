import Larder

/// The transports of this build, by the names that `--transport` takes.
enum Transports {
    /// - Parameter transfers: at once over URLSession, in place of the number that never stalls.
    static func make(_ connection: ConnectionOptions, transfers: Int? = nil) -> any Transport {
        #if Curl
            if connection.transport == "curl" {
                var configuration = CurlTransport.Configuration()
                if let proxy = connection.proxy { configuration.proxy = proxy.isEmpty ? .none : .url(proxy) }
                configuration.authorities = connection.authorities
                return CurlTransport(configuration: configuration)
            }
        #endif
        return URLSessionTransport(configuration: .init(transfersAtOnce: transfers))
    }
}
