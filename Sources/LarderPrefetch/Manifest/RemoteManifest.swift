import Foundation
import Larder
import LarderWorkers

/// A list on the web as a source of rows: fetched page by page while it is read.
///
/// A list that cannot be fetched is ``ManifestError/notFetched(_:)``, one that is not what it should be
/// ``ManifestError/malformed(_:place:)``, and an empty one just has no rows.
package final class RemoteManifest: RowSource, @unchecked Sendable {
    // Sendable: `next` is called by one caller at a time, as RowSource demands; `stop` touches `current` alone.

    /// How pages are asked for.
    package struct Configuration: Sendable {
        /// Header fields of the request: `-H`. Sent on to the same origin only.
        package var fields = HTTPFields()
        package var deadlines = Deadlines()
        /// Tries of a page after the first. 3 by default.
        package var retries = 3
        /// Seconds before the first retry; each one doubles it. 1 by default.
        package var retryDelay = 1.0
        /// Pages followed by `Link: rel="next"`. 1,000 by default.
        package var maxPages = 1000

        package init() {}
    }

    /// A page that has begun to arrive.
    private struct Page {
        var source: ChannelSource
        /// What relative URLs in it are relative to.
        var base: URL
        var next: URL?
        var format: ManifestFormat?
    }

    private let client: HTTPClient
    private let configuration: Configuration
    private let options: ManifestOptions
    private let time: any TimeSource
    private let start: URL
    private let current = Lock(Current())
    private var reader: ManifestReader?
    private var nextURL: URL?
    private var base: URL
    private var pages = 0
    private var rows = 0
    /// Pages that were asked for, to find a list that leads back into itself.
    private var asked: Set<String> = []

    private struct Current {
        var source: ChannelSource?
        var opening: Task<Void, Never>?
        var isStopped = false
    }

    package init(
        _ url: URL, client: HTTPClient, configuration: Configuration = .init(), options: ManifestOptions = .init(),
        time: any TimeSource = SystemTime()
    ) {
        start = url
        nextURL = url
        base = url
        self.client = client
        self.configuration = configuration
        self.options = options
        self.time = time
    }

    deinit { stop() }

    package func stop() {
        let (source, opening) = current.withLock {
            $0.isStopped = true
            return ($0.source, $0.opening)
        }
        opening?.cancel()
        source?.stop()
    }

    package var omission: String? {
        guard let nextURL, reader == nil, pages >= configuration.maxPages else { return nil }
        return "the list goes on behind page \(pages), at \(nextURL.absoluteString); --max-pages allows more"
    }

    package func next(_ count: Int) throws(ManifestError) -> [Row] {
        while true {
            if reader == nil {
                guard let url = nextURL, pages < configuration.maxPages else { return [] }
                guard asked.insert(url.absoluteString).inserted else {
                    throw .malformed(
                        "page \(pages) leads back to \(url.absoluteString), which was read before", place: "")
                }
                do throws(ManifestError) { try openPage(url) } catch .notFetched(let reason) where pages > 0 {
                    throw .notFetched("page \(pages + 1), \(url.absoluteString): \(reason)")
                }
            }
            guard let reader else { return [] }
            var found = try reader.next(count)
            if found.isEmpty {
                self.reader = nil
                continue
            }
            for index in found.indices {
                rows += 1
                found[index].number = rows
                found[index].url = absolute(found[index].url)
            }
            return found
        }
    }

    /// An API names its images as its pages name theirs: `/a.png` and `//host/a.png` are relative to the list
    /// (RFC 3986 §5).
    private func absolute(_ text: String) -> String {
        let start = text.drop(while: \.isWhitespace)
        guard let first = start.first else { return text }
        let scheme = start.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        if first.isLetter, !scheme.isEmpty, start.dropFirst(scheme.count).first == ":" { return text }
        return base.resolving(reference: String(start))?.absoluteString ?? text
    }

    /// Blocks until the page's head has come.
    private func openPage(_ url: URL) throws(ManifestError) {
        let done = DispatchSemaphore(value: 0)
        let answer = Lock<Result<Page, ManifestError>>(.failure(.stopped))
        let opening = Task { [self] in
            let page = await open(url)
            answer.withLock { $0 = page }
            done.signal()
        }
        let isStopped = current.withLock {
            $0.opening = opening
            return $0.isStopped
        }
        if isStopped { opening.cancel() }
        done.wait()
        let page = try answer.withLock { $0 }.get()
        let stopsNow = current.withLock {
            $0.opening = nil
            $0.source = page.source
            return $0.isStopped
        }
        if stopsNow { page.source.stop() }
        pages += 1
        nextURL = page.next
        base = page.base
        var options = options
        options.format = options.format ?? page.format
        reader = ManifestReader(page.source, options: options)
    }

    private func open(_ url: URL) async -> Result<Page, ManifestError> {
        var delay = configuration.retryDelay
        for attempt in 0...max(0, configuration.retries) {
            do throws(ImageError) {
                return .success(try await request(url))
            } catch {
                guard error.isRetryable, attempt < configuration.retries else {
                    return .failure(error.code == "cancelled" ? .stopped : .notFetched(Self.reason(error)))
                }
                do { try await time.sleep(seconds: min(error.details.retryAfter ?? delay, 30)) } catch {
                    return .failure(.stopped)
                }
                delay *= 2
            }
        }
        return .failure(.stopped)
    }

    private func request(_ url: URL) async throws(ImageError) -> Page {
        // What is secret in it belongs to the origin that it was given for.
        var fields = url.hasSameOrigin(as: start) ? configuration.fields : HTTPFields()
        if fields["Accept"] == nil { fields["Accept"] = "application/json, */*;q=0.5" }
        if fields["Accept-Encoding"] == nil { fields["Accept-Encoding"] = "identity" }
        let response = try await client.open(
            TransportRequest(url: url, fields: fields, deadlines: configuration.deadlines))
        guard response.status == 200 else {
            response.body.cancel()
            throw .httpStatus(
                response.status, .init("the list's server answered \(response.status)", url: url.absoluteString))
        }
        let source = ChannelSource()
        Task {
            do throws(ImageError) {
                while let bytes = try await response.body.next() {
                    guard await source.put(bytes) else { return response.body.cancel() }
                }
                source.finish()
            } catch {
                source.finish(.notFetched(Self.reason(error)))
            }
        }
        let next = LinkHeader.target("next", in: response.fields.values("Link"))
            .flatMap { response.url.resolving(reference: $0) }
        let typed = response.fields["Content-Type"].flatMap(ManifestFormat.init(contentType:))
        let named = ManifestFormat(name: response.url.absoluteString) ?? ManifestFormat(name: url.absoluteString)
        // Servers call whatever they do not know text/plain.
        let format = typed == .txt ? named ?? typed : typed ?? named
        return Page(source: source, base: response.url, next: next == url ? nil : next, format: format)
    }

    private static func reason(_ error: ImageError) -> String {
        let detail = error.details.detail
        return detail.isEmpty ? error.message(in: .english) : detail
    }
}
