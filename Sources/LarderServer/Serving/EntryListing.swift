import Larder

/// What the API tells of the directory. Every call blocks on the index or on files.
package final class EntryListing: Sendable {
    private let tier: DiskTier
    private let time: any TimeSource

    package init(tier: DiskTier, time: any TimeSource) {
        self.tier = tier
        self.time = time
    }

    package func entries(_ query: EntryListQuery, withPrivate: Bool) -> Result<Answer, Problem> {
        answering { () throws(ImageError) in
            guard query.state != .failed else { return try failures(query, withPrivate) }
            guard let wanted = query.inIndex(withPrivate: withPrivate, now: time.now) else {
                return EntryPage(total: 0, offset: query.offset, entries: [])
            }
            var rows: [IndexRow] = []
            rows.reserveCapacity(query.limit)
            try tier.list(wanted) { row in
                rows.append(row)
                return true
            }
            let now = time.now
            // The index knows the order; the file knows the picture.
            let entries = rows.map { row in
                tier.peek(named: row.hash).map { EntrySummary($0, now: now) } ?? EntrySummary(row, now: now)
            }
            return EntryPage(total: try tier.count(wanted), offset: query.offset, entries: entries)
        }
    }

    private func failures(_ query: EntryListQuery, _ withPrivate: Bool) throws(ImageError) -> EntryPage {
        let found = try tier.rememberedFailures(
            search: query.search, includesPrivate: withPrivate, offset: query.offset, limit: query.limit)
        return EntryPage(
            total: found.total, offset: query.offset, entries: found.failures.map { EntrySummary($0) })
    }

    package func entry(_ hash: CacheKey.Hash, withPrivate: Bool) -> Result<Answer, Problem> {
        guard let entry = tier.peek(named: hash) else { return .failure(.notFound("There is no entry of that key.")) }
        guard withPrivate || !entry.isPrivate && entry.key.partition == nil else {
            return .failure(Problem(403, "private", "This image was fetched for one user alone; it wants a token."))
        }
        return answering { () throws(ImageError) in
            var variants: [EntrySummary] = []
            var query = EntryQuery()
            query.variants = true
            query.url = entry.key.url
            query.limit = 200
            try tier.list(query) { row in
                if let variant = tier.peek(named: row.hash), variant.source?.sha256 == entry.sha256 {
                    variants.append(EntrySummary(variant, now: time.now))
                }
                return true
            }
            return EntryDetail(entry, metadata: try entry.metadata(), variants: variants, now: time.now)
        }
    }

    package func remove(_ hash: CacheKey.Hash) -> Result<Answer, Problem> {
        guard let entry = tier.peek(named: hash) else { return .failure(.notFound("There is no entry of that key.")) }
        tier.remove(entry.key)
        // Its thumbnails are of no use any more. They are found through the index; those it does not know yet miss
        // because their source has gone.
        var query = EntryQuery()
        query.variants = true
        query.url = entry.key.url
        var hashes: [CacheKey.Hash] = []
        try? tier.list(query) { row in
            hashes.append(row.hash)
            return true
        }
        for hash in hashes { tier.remove(named: hash) }
        return .success(Answer(204, fields: ["Cache-Control": "no-store"]))
    }

    package func stats(withPrivate: Bool) -> Result<Answer, Problem> {
        answering { () throws(ImageError) in
            EntryStatistics(try tier.statistics(), originals: try tier.originalCounts(includesPrivate: withPrivate))
        }
    }

    package func gauges() -> Metrics.Gauges {
        var gauges = Metrics.Gauges()
        gauges.diskLimit = tier.configuration.maximumBytes
        if let usage = tier.usage { (gauges.diskBytes, gauges.entries) = (usage.bytes, usage.count) }
        return gauges
    }

    private func answering<Body: Encodable>(
        _ body: () throws(ImageError) -> Body
    ) -> Result<Answer, Problem> {
        do throws(ImageError) { return .success(JSONAnswer.answer(try body())) } catch {
            return .failure(Problem(error))
        }
    }
}

extension EntryListQuery {
    /// The same in the terms of the disk tier; nil where no image can be of that format.
    fileprivate func inIndex(withPrivate: Bool, now: Timestamp) -> EntryQuery? {
        var wanted = EntryQuery()
        wanted.variants = false
        wanted.includesPrivate = withPrivate
        wanted.search = search
        wanted.offset = offset
        wanted.limit = limit
        wanted.descending = isDescending
        wanted.order =
            switch order {
            case .stored: .stored
            case .used: .used
            case .size: .length
            case .url: .url
            }
        switch state {
        case .fresh: wanted.freshness = .fresh(at: now)
        case .stale: wanted.freshness = .stale(at: now)
        case .any, .failed: break
        }
        if let name = format {
            guard let known = ImageFormat(rawValue: name) else { return nil }
            wanted.format = known
        }
        return wanted
    }
}
