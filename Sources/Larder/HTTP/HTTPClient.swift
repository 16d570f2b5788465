import Foundation

/// One request over any ``Transport``, as a careful client sends it: only to http and https, only to hosts and
/// addresses that are permitted, redirects followed by our own rules, within one deadline.
///
/// Nothing is retried and nothing is stored: that is done above. Values are safe to use from any thread.
public struct HTTPClient: Sendable {
    /// What does the single exchanges.
    public var transport: any Transport
    /// Which redirects are followed.
    public var redirects: RedirectPolicy
    /// Which hosts may be asked, those of redirects included.
    public var hosts: HostPolicy
    private let time: any TimeSource
    private let watch: DeadlineWatch

    /// What is not given has its default.
    public init(transport: any Transport, redirects: RedirectPolicy = .init(), hosts: HostPolicy = .init()) {
        self.init(transport: transport, redirects: redirects, hosts: hosts, time: SystemTime())
    }

    package init(
        transport: any Transport, redirects: RedirectPolicy = .init(), hosts: HostPolicy = .init(),
        time: any TimeSource
    ) {
        self.transport = transport
        self.redirects = redirects
        self.hosts = hosts
        self.time = time
        watch = DeadlineWatch(time: time)
    }

    /// Sends the request, follows redirects, and returns when the head of the final response has arrived.
    ///
    /// User info in the URL is neither sent nor logged, the fragment is not sent. `Authorization`, `Cookie`,
    /// `Proxy-Authorization` and fields whose names speak of secrets, such as `X-Api-Key`, are dropped for good at the
    /// first redirect to another origin.
    ///
    /// - Parameter request: ``Deadlines/total`` counts over all hops and the body.
    /// - Throws: ``ImageError/invalidURL(_:)``, ``ImageError/refused(_:_:)``, ``ImageError/unreachable(_:)``,
    ///   ``ImageError/timedOut(_:_:)``, ``ImageError/tooLarge(_:)``, ``ImageError/cancelled(_:)``; never for a status.
    public func open(_ request: TransportRequest) async throws(ImageError) -> HTTPResponse {
        try await open(request, deadline: nil)
    }

    /// Ends the body with ``ImageError/timedOut(_:_:)`` where it is not whole so many seconds from now.
    package func limit(_ body: ResponseBody, seconds: Double) { watch.add(body, deadline: time.deadline(in: seconds)) }

    /// The same until a monotonic time, for callers that count retries against it; `total` from now where it is nil.
    ///
    /// - Parameters:
    ///   - executor: where the exchange's task runs: that of the caller, where it prefers one, saves two journeys between
    ///     threads.
    ///   - onRedirect: called with each URL that a redirect leads to, before it is asked; what it throws ends the request.
    package func open(
        _ request: TransportRequest, deadline: UInt64?, on executor: (any TaskExecutor)? = nil,
        onRedirect: ((URL) async throws(ImageError) -> Void)? = nil
    ) async throws(ImageError) -> HTTPResponse {
        var deadline = deadline ?? time.deadline(in: request.deadlines.total)
        var request = request
        request.url = try request.url.requestTarget
        var hop = 0
        while true {
            do throws(ImageError) {
                try check(request)
                if hop > 0, let onRedirect {
                    let begin = time.monotonic
                    try await onRedirect(request.url)
                    // Waiting for limits of our own is not the server's fault.
                    deadline = deadline.addingReportingOverflow(time.monotonic - begin).partialValue
                }
                let response = try await send(request, before: deadline, on: executor)
                try check(response, request)
                guard let next = try redirect(after: response, to: request, hop: hop) else {
                    watch.add(response.body, deadline: deadline)
                    return HTTPResponse(response, url: request.url, redirects: hop)
                }
                request = next
                request.url = try next.url.requestTarget
                hop += 1
            } catch {
                throw error.at(request.url)
            }
        }
    }

    private func redirect(
        after response: TransportResponse, to request: TransportRequest, hop: Int
    ) throws(ImageError) -> TransportRequest? {
        do throws(ImageError) {
            let next = try redirects.next(after: request, status: response.status, fields: response.fields)
            guard next != nil else { return nil }
            guard hop < redirects.maxHops else {
                throw .refused(.redirect, .init("more than \(redirects.maxHops) redirects"))
            }
            response.body.cancel()
            return next
        } catch {
            response.body.cancel()
            throw error
        }
    }

    private func check(_ request: TransportRequest) throws(ImageError) {
        let host = request.url.host ?? ""
        guard hosts.permits(host) else {
            throw .refused(.host, .init("the host \(host) is not allowed"))
        }
        // The transport judges names; what is written as an address is judged here, whatever the transport does.
        if request.addresses != .any, let address = AddressPolicy.literal(host), !request.addresses.permits(address) {
            throw .refused(.address, .init("\(host) is not a public address"))
        }
    }

    private func check(_ response: TransportResponse, _ request: TransportRequest) throws(ImageError) {
        guard request.addresses != .any, let text = response.remoteAddress,
            let address = AddressPolicy.literal(text),
            !request.addresses.permits(address)
        else { return }
        response.body.cancel()
        throw .refused(.address, .init("\(text) is not a public address"))
    }

    /// One exchange, ended at the deadline.
    private func send(
        _ request: TransportRequest, before deadline: UInt64, on executor: (any TaskExecutor)?
    ) async throws(ImageError) -> TransportResponse {
        func expired() -> ImageError { .timedOut(.total, .init("not done within \(request.deadlines.total) s")) }
        guard time.monotonic < deadline else { throw expired() }
        let transport = self.transport
        let exchange = Task(executorPreference: executor) { () -> Result<TransportResponse, ImageError> in
            do throws(ImageError) { return .success(try await transport.open(request)) } catch {
                return .failure(error)
            }
        }
        let ticket = watch.add(exchange, deadline: deadline)
        let result = await withTaskCancellationHandler {
            await exchange.value
        } onCancel: {
            exchange.cancel()
        }
        if watch.remove(ticket) {
            if case .success(let response) = result { response.body.cancel() }
            throw expired()
        }
        return try result.get()
    }
}

extension URL {
    /// The URL as it is asked for: without user info and fragment, its scheme in lower case, which URLSession insists on.
    ///
    /// - Throws: ``ImageError/invalidURL(_:)`` without a host; ``ImageError/refused(_:_:)`` for other schemes.
    fileprivate var requestTarget: URL {
        get throws(ImageError) {
            guard let scheme = scheme?.lowercased() else {
                throw .invalidURL(.init("no scheme", url: withoutUserInfo))
            }
            guard ["http", "https"].contains(scheme) else {
                throw .refused(.scheme, .init("\(scheme): only http and https are fetched", url: withoutUserInfo))
            }
            guard let host, !host.isEmpty else { throw .invalidURL(.init("no host", url: withoutUserInfo)) }
            guard hasUsablePort else { throw .invalidURL(.init("the port is none", url: withoutUserInfo)) }
            guard user != nil || password != nil || fragment != nil || self.scheme != scheme else { return self }
            var components = URLComponents(url: self, resolvingAgainstBaseURL: true)
            components?.scheme = scheme
            components?.user = nil
            components?.password = nil
            components?.fragment = nil
            guard let url = components?.url else { throw .invalidURL(.init("not a URL", url: withoutUserInfo)) }
            return url
        }
    }
}
