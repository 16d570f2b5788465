import Larder

/// The transports of this build, by the names that `--transport` takes.
enum Transports {
    static func make(_ connection: ConnectionOptions) -> any Transport {
        #if Curl
            if connection.transport == "curl" {
                var configuration = CurlTransport.Configuration()
                if let proxy = connection.proxy { configuration.proxy = proxy.isEmpty ? .none : .url(proxy) }
                configuration.authorities = connection.authorities
                return CurlTransport(configuration: configuration)
            }
        #endif
        return URLSessionTransport()
    }
}
