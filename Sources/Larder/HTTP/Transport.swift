import Foundation

/// The one seam to the network: one request in; the response's head, then its chunks, then its end or an error out.
///
/// A transport does one exchange and judges nothing but the protocol: it follows no redirect, retries nothing,
/// stores nothing, sends no cookies or credentials of its own, and hands every status on. It keeps the deadlines
/// `connect` and `idle` of the request. Implementations are safe from any thread.
///
/// Cancellation: when the task that waits in ``open(_:)`` is cancelled, it throws ``ImageError/cancelled(_:)`` at
/// once; when the ``ResponseBody`` is cancelled or released, the transfer stops. Both leave nothing behind.
public protocol Transport: Sendable {
    /// A short name for `--version`, logs and reports: `urlsession`, `curl`.
    var name: String { get }

    /// Sends the request and returns when the response's head has arrived.
    ///
    /// Called on one of the loader's few threads for files: what blocks or computes for long belongs elsewhere.
    func open(_ request: TransportRequest) async throws(ImageError) -> TransportResponse
}

/// What a ``Transport`` sends.
public struct TransportRequest: Sendable {
    /// An http or https URL without user info.
    public var url: URL
    /// `GET` by default.
    public var method: String
    /// The header fields to send. `Host`, `Connection` and lengths are the transport's own.
    public var fields: HTTPFields
    /// The request's body; empty by default.
    public var body: [UInt8]
    /// `connect` and `idle` are the transport's to keep.
    public var deadlines: Deadlines
    /// The most bytes that a response's header section may have; 64 KiB by default.
    public var maxHeaderBytes: Int
    /// The addresses that may be connected to. Transports that see the address (curl) enforce it there.
    public var addresses: AddressPolicy

    /// What is not given has its default.
    public init(
        url: URL, method: String = "GET", fields: HTTPFields = .init(), body: [UInt8] = [],
        deadlines: Deadlines = .init(), maxHeaderBytes: Int = 64 << 10, addresses: AddressPolicy = .any
    ) {
        self.url = url
        self.method = method
        self.fields = fields
        self.body = body
        self.deadlines = deadlines
        self.maxHeaderBytes = maxHeaderBytes
        self.addresses = addresses
    }
}

/// How long each part of an exchange may take, in seconds.
public struct Deadlines: Sendable, Hashable {
    /// Until the connection stands (TLS included) and the request is sent. 10 s by default.
    public var connect: Double
    /// Without any byte received, once connected. 15 s by default.
    public var idle: Double
    /// The whole work on one image: redirects, retries and waiting included. 60 s by default.
    /// Kept by the caller of the transport, not by the transport.
    public var total: Double

    /// In seconds; what is not given has its default.
    public init(connect: Double = 10, idle: Double = 15, total: Double = 60) {
        self.connect = connect
        self.idle = idle
        self.total = total
    }
}

/// The head of a response and the way to its body.
public struct TransportResponse: Sendable {
    /// The three digits of the status, 200 to 999: 1xx are passed over by the transport.
    public var status: Int
    /// The header fields, in the order received.
    public var fields: HTTPFields
    /// The address that answered, such as `192.0.2.1`, or nil where the transport cannot tell.
    public var remoteAddress: String?
    /// `1.0`, `1.1`, `2`, or nil where the transport cannot tell.
    public var httpVersion: String?
    /// What follows the head.
    public var body: ResponseBody

    /// A head from its parts.
    public init(
        status: Int, fields: HTTPFields, remoteAddress: String? = nil, httpVersion: String? = nil, body: ResponseBody
    ) {
        self.status = status
        self.fields = fields
        self.remoteAddress = remoteAddress
        self.httpVersion = httpVersion
        self.body = body
    }
}
