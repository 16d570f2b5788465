/// What ``CachingFetcher`` gives.
package struct FetchResult: Sendable {
    package enum Payload: Sendable {
        /// In the disk tier, or readable as if it were (``StoredEntry/isStored``).
        case entry(StoredEntry)
        /// What may not be stored, or where there is no disk tier.
        case memory([UInt8], EntryMetadata)
    }

    package var payload: Payload
    package var source: LoadedImage.Source
    /// Served although it is no longer fresh (RFC 9111 §4.2.4).
    package var isStale = false
    /// The status of the answer that brought the payload.
    package var status: Int
    /// Requests sent for it; 0 for a hit.
    package var attempts = 0
    /// The server names another type than the bytes are. Only known where the network was asked.
    package var contentTypeMismatch = false
    /// It was to be stored and could not be: the directory has no room or cannot be written.
    package var isUnkept = false
    /// Other bytes than these may have been stored before: what was made of them is out of date.
    package var mayReplace = false
    /// The payload's bytes where they are still in memory, so that they need not be read again.
    package var bytes: [UInt8]?
    /// For ``FetchRequest/Content/any`` from the network: the fields as the server sent them, also those that are not
    /// stored.
    package var received: HTTPFields?
    /// Another request for the same had begun already, and this one shared it.
    package var isShared = false

    package init(_ payload: Payload, source: LoadedImage.Source, status: Int) {
        self.payload = payload
        self.source = source
        self.status = status
    }

    /// The payload. Blocks where it must be read.
    ///
    /// - Throws: as ``StoredEntry/payload()``.
    package func readPayload() throws(ImageError) -> [UInt8] {
        if let bytes { return bytes }
        return switch payload {
        case .entry(let entry): try entry.payload()
        case .memory(let bytes, _): bytes
        }
    }

    /// The payload for the time of a call. Blocks where it must be read.
    ///
    /// - Throws: as ``StoredEntry/withPayload(_:)``.
    package func withPayload<Result>(
        _ body: (UnsafeRawBufferPointer) throws(ImageError) -> Result
    ) throws(ImageError) -> Result {
        if let bytes { return try bytes.withRawBytes(body) }
        return switch payload {
        case .entry(let entry): try entry.withPayload(body)
        case .memory(let bytes, _): try bytes.withRawBytes(body)
        }
    }

    /// The image's header; nil for what is no image.
    package var header: ImageHeader? {
        switch payload {
        case .entry(let entry): entry.header
        case .memory(_, let metadata): metadata.header
        }
    }

    /// 32 bytes.
    package var sha256: [UInt8] {
        switch payload {
        case .entry(let entry): entry.sha256
        case .memory(_, let metadata): metadata.sha256
        }
    }

    package var payloadLength: Int {
        switch payload {
        case .entry(let entry): entry.payloadLength
        case .memory(let bytes, _): bytes.count
        }
    }

    /// Everything known beside the payload. May read.
    package func metadata() throws(ImageError) -> EntryMetadata {
        switch payload {
        case .entry(let entry): try entry.metadata()
        case .memory(_, let metadata): metadata
        }
    }
}

/// How far a fetch has come.
package struct FetchProgress: Sendable {
    package var received: Int
    /// From `Content-Length`; nil where it is not announced.
    package var expected: Int?
    /// From the moment its bytes have come.
    package var header: ImageHeader?
    /// The piece that came last.
    package var piece: [UInt8] = []
}

/// What happens in a ``CachingFetcher``, for logs and metrics.
package enum FetchEvent: Sendable {
    case hit(isStale: Bool)
    case coalesced
    /// Another process fetches it.
    case waiting
    case miss
    /// A request goes out, the n-th for this fetch; conditional where something stored is to be confirmed.
    case sent(attempt: Int, conditional: Bool)
    case revalidated
    case stored(bytes: Int)
    case retrying(ImageError, after: Double)
    /// What was asked for is there, after so many seconds.
    case answered(LoadedImage.Source, isStale: Bool, bytes: Int, attempts: Int, seconds: Double)
    /// A stored image stands in for a failed answer.
    case servedStale(ImageError)
    case failed(ImageError)
}

/// Called on whichever thread it happens; must not block.
package typealias FetchObserver = @Sendable (FetchEvent, CacheKey) -> Void
