/// Requests that a cache only hands on.
extension CachingFetcher {
    /// An answer as the server gave it.
    package struct Forwarded: Sendable {
        package let status: Int
        package let fields: HTTPFields
        package let body: [UInt8]
    }

    /// Sends a request of a method that is not cached. Where it may have changed something and did not fail, what is
    /// stored for its URL, and for the URLs on the same origin that its answer names, is dropped (RFC 9111 §4.4).
    package func forward(
        _ url: NormalizedURL, method: String, fields: HTTPFields, body: [UInt8], maxBytes: Int = 50 << 20,
        deadlines: Deadlines = .init()
    ) async throws(ImageError) -> Forwarded {
        let response = try await client.open(
            TransportRequest(
                url: try url.url(), method: method, fields: fields, body: body, deadlines: deadlines,
                addresses: configuration.addresses),
            deadline: nil)
        var bytes: [UInt8] = []
        while let piece = try await response.body.next() {
            guard bytes.count + piece.count <= maxBytes else {
                response.body.cancel()
                throw .tooLarge(.init("more than \(maxBytes) bytes", url: url.string))
            }
            bytes += piece
        }
        if Storability.invalidates(method: method, status: response.status) {
            await invalidate(url, fields: fields)
            for name in ["location", "content-location"] {
                // Another origin has no say in what is stored of this one.
                guard let reference = response.fields.values(name).first,
                    let target = try? url.url().resolving(reference: reference), let named = try? NormalizedURL(target),
                    named.origin == url.origin
                else { continue }
                await invalidate(named, fields: fields)
            }
        }
        return Forwarded(status: response.status, fields: response.fields, body: bytes)
    }
}
