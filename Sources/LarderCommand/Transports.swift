import Larder

/// The transports of this build, by the names that `--transport` takes.
enum Transports {
    static func make(_ name: String) -> any Transport {
        #if Curl
            if name == "curl" { return CurlTransport() }
        #endif
        return URLSessionTransport()
    }
}
