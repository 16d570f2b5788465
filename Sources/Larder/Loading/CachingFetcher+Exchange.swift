import Foundation

/// One exchange with the server: conditions and ranges out, status and body in.
extension CachingFetcher {
    enum Answer {
        /// A whole body, judged and ready to be stored.
        case received(FetchBody, EntryMetadata, contentTypeMismatch: Bool, fields: HTTPFields)
        /// What is stored is still good, and these are its new metadata.
        case notModified(Stored, EntryMetadata)
        /// Ask once more: what was sent along did not help.
        case again
    }

    func exchange(
        _ plan: inout FetchPlan, _ turn: Turn, attempt: Int, deadline: UInt64
    ) async throws(ImageError) -> Answer {
        let partial = try await takeBeginning(&plan)
        do throws(ImageError) {
            return try await exchange(&plan, turn, partial, attempt: attempt, deadline: deadline)
        } catch {
            // A beginning that was not used up is still good for the next attempt.
            if let partial, partial.isWhole {
                await executor.perform { partial.putBack() }
                plan.hasKept = true
            }
            throw error
        }
    }

    private func exchange(
        _ plan: inout FetchPlan, _ turn: Turn, _ partial: Beginning?, attempt: Int, deadline: UInt64
    ) async throws(ImageError) -> Answer {
        var fields = plan.fields
        var conditions = Validators(HTTPFields(), now: time.now)
        if let stored = plan.stored {
            conditions = Validators(stored.metadata.fields, now: time.now)
            // The whole is asked for, whatever part of it the request wants.
            fields.fields.removeAll { Self.conditionalFields.contains($0.name) }
            fields.fields += conditions.conditionalFields
        } else if let partial {
            fields.append("Range", "bytes=\(partial.count)-")
            fields.append("If-Range", partial.validator)
        }
        configuration.observer?(.sent(attempt: attempt, conditional: !conditions.isEmpty), plan.key)
        let requestTime = time.now
        let response = try await client.open(
            TransportRequest(
                url: try plan.request.url.url(), method: plan.method, fields: fields, deadlines: plan.request.deadlines,
                addresses: configuration.addresses),
            deadline: deadline, on: executor.tasks
        ) { (url) throws(ImageError) in try await self.follow(url, turn) }
        let exchanged = Exchanged(
            sent: fields, response: response, requestTime: requestTime, responseTime: time.now)

        do throws(ImageError) {
            return try await answer(&plan, exchanged, conditions, partial)
        } catch {
            throw error.mapDetails { $0.status = response.status }
        }
    }

    private func answer(
        _ plan: inout FetchPlan, _ exchanged: Exchanged, _ conditions: Validators, _ partial: Beginning?
    ) async throws(ImageError) -> Answer {
        let response = exchanged.response
        switch response.status {
        case 304:
            _ = try? await response.body.next()
            guard let stored = plan.stored else { break }
            guard plan.isAnswer(response, from: stored.metadata.finalURL),
                conditions.areConfirmed(by: Validators(response.fields, now: exchanged.responseTime))
            else {
                // It speaks of a version that we do not have, or of another resource (RFC 9111 §4.3.4).
                plan.stored = nil
                return .again
            }
            let metadata = merged(plan, stored, exchanged)
            guard metadata.isPrivate == stored.metadata.isPrivate else {
                // It belongs under another key from now on.
                plan.stored = nil
                return .again
            }
            return .notModified(stored, metadata)
        case 206 where partial != nil:
            if let partial, plan.isAnswer(response, from: partial.metadata.finalURL),
                let total = partial.continues(response.fields)
            {
                return try await read(&plan, exchanged, partial: partial, total: total)
            }
            // Another part than was asked for, or of another resource.
            response.body.cancel()
            await drop(partial)
            return .again
        case 416 where partial != nil:
            await settle(response)
            await drop(partial)
            return .again
        default:
            break
        }
        if plan.request.takesAnything {
            let fault = ImageError.httpStatus(response.status, .init())
            if response.status >= 500, let stored = plan.stored,
                Reuse.mayServeOnError(
                    stored.entry.freshness, policy: plan.request.policy, error: fault, now: time.now)
            {
                await settle(response)
                throw fault
            }
        } else {
            try await judge(response, exchanged.responseTime)
        }
        await drop(partial)
        return try await read(&plan, exchanged, partial: nil, total: nil)
    }

    private static let conditionalFields: FieldNames = [
        "if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range", "range",
    ]

    /// Whether the head of a response can bring an image.
    private func judge(_ response: HTTPResponse, _ now: Timestamp) async throws(ImageError) {
        if configuration.keepsRobotsTag, let directive = RobotsTag.forbids(response.fields, agent: "larder") {
            response.body.cancel()
            throw .refused(.robots, .init("X-Robots-Tag: \(directive)"))
        }
        guard (200...299).contains(response.status), ![204, 205, 206].contains(response.status) else {
            await settle(response)
            throw .httpStatus(
                response.status,
                .init("status \(response.status)", retryAfter: RetryPolicy.retryAfter(response.fields, now: now)))
        }
    }

    /// Reads a short body that nobody needs to its end, so that the connection can be used again; ends one that is
    /// long or slow to come.
    private func settle(_ response: HTTPResponse) async {
        let declared = response.fields.first("content-length").flatMap { Int($0) }
        if let declared, declared <= 16 << 10 {
            client.limit(response.body, seconds: 0.5)
            while (try? await response.body.next()) != nil {}
        }
        response.body.cancel()
    }

    private func merged(_ plan: FetchPlan, _ stored: Stored, _ exchanged: Exchanged) -> EntryMetadata {
        let fields = Storability.merge(
            stored.metadata.fields, notModified: plan.storedFields(exchanged.response.fields))
        var metadata = plan.metadata(
            key: stored.entry.key, status: stored.metadata.status, fields: fields, finalURL: stored.metadata.finalURL,
            requestTime: exchanged.requestTime, responseTime: exchanged.responseTime, header: stored.metadata.header,
            options: configuration.freshness)
        metadata.isPrivate = metadata.isPrivate || stored.metadata.isPrivate
        metadata.extra = stored.metadata.extra
        metadata.source = stored.metadata.source
        metadata.sha256 = stored.metadata.sha256
        return metadata
    }

    // MARK: The body

    private struct Exchanged {
        let sent: HTTPFields
        let response: HTTPResponse
        let requestTime: Timestamp
        let responseTime: Timestamp
    }

    private func read(
        _ plan: inout FetchPlan, _ exchanged: Exchanged, partial: Beginning?, total: Int?
    ) async throws(ImageError) -> Answer {
        let response = exchanged.response
        var fields = plan.storedFields(response.fields)
        if let partial {
            // The whole has the fields of its parts, the newer ones first (RFC 9111 §3.4).
            fields = Storability.merge(partial.metadata.fields, notModified: fields)
        }
        let status = partial == nil ? response.status : 200
        let finalURL = plan.finalURL(response)
        let stores =
            disk != nil
            && Storability.mayStore(
                method: plan.method, request: partial == nil ? exchanged.sent : plan.fields, status: status,
                response: fields)
        let key = partial?.metadata.key ?? plan.storageKey(fields)
        var body = FetchBody(
            disk: stores ? disk : nil, key: key, executor: executor, batchBytes: configuration.batchBytes,
            writer: partial?.take())
        var check: BodyCheck
        do throws(ImageError) {
            check = try BodyCheck(plan.request, response, partial: partial, total: total)
        } catch {
            response.body.cancel()
            await body.abandon()
            throw error
        }
        func metadata() -> EntryMetadata {
            plan.metadata(
                key: key, status: status, fields: fields, finalURL: finalURL, requestTime: exchanged.requestTime,
                responseTime: exchanged.responseTime, header: check.header, options: configuration.freshness)
        }
        do throws(ImageError) {
            while let bytes = try await response.body.next() {
                try bytes.withRawBytes { (bytes) throws(ImageError) in try check.receive(bytes) }
                try await body.append(bytes)
                plan.hub.report(
                    FetchProgress(
                        received: body.count, expected: total ?? check.declared, header: check.header, piece: bytes))
                if let rate { try await rate.pass(bytes.count) }
            }
            try check.finish()
        } catch {
            response.body.cancel()
            if let validator = validatorToContinue(plan, response, check, body, error) {
                await body.keep(metadata(), validator: validator)
                plan.hasKept = true
            } else {
                await body.abandon()
            }
            throw error
        }
        // What was stored before must not outlive an answer that takes its place (RFC 9111 §4).
        if !stores, let disk, plan.method == "GET", status == 200 {
            let key = plan.key
            await executor.perform { disk.remove(key) }
        }
        let named = response.fields.first("content-type").flatMap { ImageFormat(contentType: $0) }
        let mismatch = check.header.map { $0.format != named } ?? false
        return .received(body, metadata(), contentTypeMismatch: mismatch, fields: response.fields)
    }

    // MARK: Cut transfers

    /// Bytes below which a beginning is not worth keeping.
    private static let leastPartial = 64 << 10

    /// The validator under which the rest can be asked for, where the transfer was cut and the beginning is good.
    private func validatorToContinue(
        _ plan: FetchPlan, _ response: HTTPResponse, _ check: BodyCheck, _ body: FetchBody, _ error: ImageError
    ) -> String? {
        guard body.count >= Self.leastPartial, check.header != nil, plan.stored == nil else { return nil }
        switch error {
        case .truncated, .unreachable, .timedOut: break
        default: return nil
        }
        guard response.fields["accept-ranges"]?.equalsIgnoringCase("none") != true else { return nil }
        return Validators(response.fields, now: time.now).ifRange
    }

    private func takeBeginning(_ plan: inout FetchPlan) async throws(ImageError) -> Beginning? {
        defer { (plan.beginning, plan.hasKept) = (nil, false) }
        guard plan.beginning == nil, plan.hasKept else { return plan.beginning }
        let (request, key) = (plan.request, plan.key)
        return try await executor.run { () throws(ImageError) in self.beginning(request, key) }
    }

    private func drop(_ partial: Beginning?) async {
        guard let writer = partial?.take() else { return }
        await executor.perform { writer.abandon() }
    }
}
