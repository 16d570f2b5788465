#if Curl
    import CCurl
    import Testing

    @testable import Larder

    struct CurlTransportFailureTests {
        private func error(_ result: CURLcode, connected: Bool = true, head: Bool = false) throws -> ImageError {
            try #require(CurlFailure.error(for: result, "", isConnected: connected, headIsComplete: head))
        }

        /// Whoever stands between tells a server that is not there from one that talks nonsense.
        @Test(arguments: [CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_WEIRD_SERVER_REPLY])
        func whatIsNoHeadIsMalformed(_ result: CURLcode) throws {
            let before = try error(result)
            #expect(before.code == "unreachable" && before.details.isMalformed)
            #expect(try error(result, head: true).code == "truncated")
        }

        @Test func anotherProtocolIsTheServersOnlyWhereOneHasAnswered() throws {
            #expect(try error(CURLE_UNSUPPORTED_PROTOCOL).details.isMalformed)
            let own = try error(CURLE_UNSUPPORTED_PROTOCOL, connected: false)
            #expect(!own.details.isMalformed && own.details.isTransient == false)
            #expect(try !error(CURLE_COULDNT_CONNECT, connected: false).details.isMalformed)
        }
    }
#endif
