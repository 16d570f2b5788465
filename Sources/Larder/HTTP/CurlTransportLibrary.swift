#if Curl
    import CCurl

    /// The libcurl that this process runs with.
    enum CurlLibrary {
        /// Initialises libcurl, once in the process, whoever asks first.
        static let isReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK
    }

    extension CurlTransport {
        /// libcurl, its TLS library and the versions of HTTP that it speaks, for `--version`:
        /// `libcurl 7.88.1, OpenSSL/3.0.15, HTTP/1.1 HTTP/2`.
        public static let version: String = {
            guard CurlLibrary.isReady, let info = curl_version_info(CURLVERSION_FIRST)?.pointee else {
                return "libcurl, which cannot be initialised"
            }
            func has(_ feature: UInt32) -> Bool { UInt32(bitPattern: info.features) & feature != 0 }
            let tls = info.ssl_version.map { String(cString: $0) } ?? "no TLS"
            let versions =
                ["HTTP/1.1"] + (has(UInt32(CURL_VERSION_HTTP2)) ? ["HTTP/2"] : [])
                + (has(UInt32(CURL_VERSION_HTTP3)) ? ["HTTP/3"] : [])
            return "libcurl \(String(cString: info.version)), \(tls), \(versions.joined(separator: " "))"
        }()
    }
#endif
