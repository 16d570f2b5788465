#if Curl
    import CCurl

    /// What a result of libcurl means for an image.
    enum CurlFailure {
        /// - Parameters:
        ///   - message: what libcurl said beyond the code, or nothing.
        ///   - isConnected: whether a connection stood, so that there was somebody to answer.
        ///   - headIsComplete: whether the response had begun: a connection that breaks then has cut the body short.
        /// - Returns: nil for success.
        static func error(
            for result: CURLcode, _ message: String, isConnected: Bool, headIsComplete: Bool
        ) -> ImageError? {
            guard result != CURLE_OK else { return nil }
            let text = message.isEmpty ? String(cString: curl_easy_strerror(result)) : message
            func details(isTransient: Bool? = nil) -> ImageError.Details {
                .init("\(text) (libcurl \(result.rawValue))", isTransient: isTransient)
            }
            switch result {
            case CURLE_URL_MALFORMAT:
                return .invalidURL(details())
            case CURLE_UNSUPPORTED_PROTOCOL where isConnected:
                // It is the answer that is in another protocol. Without a connection it is a libcurl without TLS.
                return .malformed(details().detail, isTransient: false)
            case CURLE_WEIRD_SERVER_REPLY where !headIsComplete, CURLE_HTTP2 where !headIsComplete,
                CURLE_HTTP2_STREAM where !headIsComplete:
                return .malformed(details().detail)
            case CURLE_OPERATION_TIMEDOUT:
                // The idle and total deadlines are not libcurl's.
                return .timedOut(.connect, details())
            case CURLE_OUT_OF_MEMORY where !headIsComplete, CURLcode(rawValue: 100) where !headIsComplete:
                // A header line beyond libcurl's own limit of 100 KiB; 100 is CURLE_TOO_LARGE of later versions.
                return .tooLarge(details())
            case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE,
                CURLE_SSL_ISSUER_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_FAILED_INIT, CURLE_BAD_FUNCTION_ARGUMENT,
                CURLE_UNKNOWN_OPTION, CURLE_NOT_BUILT_IN, CURLE_UNSUPPORTED_PROTOCOL:
                // Nothing that passes by itself.
                return .unreachable(details(isTransient: false))
            case CURLE_SSL_CONNECT_ERROR where text.contains(" alert "):
                // The other side has looked at our TLS and said no; a handshake that merely broke may go well later.
                return .unreachable(details(isTransient: false))
            default:
                // Closed, reset, broken framing: PARTIAL_FILE, RECV_ERROR, HTTP2_STREAM …
                return headIsComplete ? .truncated(details()) : .unreachable(details())
            }
        }
    }
#endif
