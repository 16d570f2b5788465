#if Curl
    import Foundation

    /// Fetches through libcurl, in this process: the transport for applications on Linux, and the fastest.
    ///
    /// One thread runs all transfers. It is started by the first request and ends, with every connection, once
    /// nothing has been fetched for ``Configuration/idleLifetime``. Connections are kept alive and reused; https
    /// requests to a server that speaks HTTP/2 share one. A consumer that is slow pauses its transfer and no other:
    /// at most about 1 MiB of a body waits in memory. TLS 1.2 or later with the authorities of the system; no
    /// redirects, cookies, `.netrc` or content decoding.
    ///
    /// Under ``AddressPolicy/publicOnly`` every address is checked as its socket is made, and again when a
    /// connection is reused; proxies are then passed by, because a proxy resolves names where nobody can check.
    ///
    /// Safe from any thread. Transfers that run when the transport is released come to their end.
    /// Available with the package trait `Curl`.
    public final class CurlTransport: Transport {
        /// What is the same for every request of a ``CurlTransport``.
        public struct Configuration: Sendable, Hashable {
            /// The way to the servers.
            public enum Proxy: Sendable, Hashable {
                /// What `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` say, read as curl reads them.
                case environment
                /// Straight to the server.
                case none
                /// Through this proxy: `http://host:port`, `socks5h://host:port` … as curl's `--proxy` takes it.
                case url(String)
            }

            /// The most connections to one host and port; more requests wait in line, and the connect deadline of
            /// those that wait begins at their turn. Nil, the default: no limit beyond that of the callers.
            public var maxConnectionsPerHost: Int?
            /// Seconds without any transfer after which every connection is closed; 60 by default.
            public var idleLifetime: Double
            /// ``Proxy/environment`` by default.
            public var proxy: Proxy
            /// The path of a PEM file with the authorities to trust instead of the system's; nil by default.
            public var authorities: String?
            /// The most header fields of one response; 256 by default. More are refused.
            public var maxHeaderFields: Int

            /// What is not given has its default.
            public init(
                maxConnectionsPerHost: Int? = nil, idleLifetime: Double = 60, proxy: Proxy = .environment,
                authorities: String? = nil, maxHeaderFields: Int = 256
            ) {
                self.maxConnectionsPerHost = maxConnectionsPerHost
                self.idleLifetime = idleLifetime
                self.proxy = proxy
                self.authorities = authorities
                self.maxHeaderFields = maxHeaderFields
            }
        }

        /// `curl`.
        public let name = "curl"
        private let loop: CurlLoop

        /// Starts nothing before the first request.
        public init(configuration: Configuration = .init()) {
            loop = CurlLoop(configuration)
        }

        deinit { loop.close() }

        /// As ``Transport/open(_:)``.
        public func open(_ request: TransportRequest) async throws(ImageError) -> TransportResponse {
            let transfer = try CurlTransfer(request, loop: loop)
            let result = await withTaskCancellationHandler {
                await withHandover { transfer.start($0) }
            } onCancel: {
                transfer.cancel()
            }
            // The answer may have come first: its body, let go of, stops the transfer.
            guard !transfer.isCancelled else {
                throw .cancelled(.init("the request was cancelled", url: transfer.url))
            }
            do throws(ImageError) {
                return try result.get()
            } catch {
                throw error.at(request.url)
            }
        }

        /// Threads, handles and sockets in use now: for tests and measurements.
        package var isRunning: Bool { loop.isRunning }
    }
#endif
