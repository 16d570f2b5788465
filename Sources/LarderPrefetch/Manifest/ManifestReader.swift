import Larder
import LarderWorkers

/// How a manifest is to be read.
package struct ManifestOptions: Sendable {
    /// nil: by the name, else by the first bytes.
    package var format: ManifestFormat?
    /// The column or key with the URL. `url` by default.
    package var urlColumn: String
    /// The keys that lead to the list inside a JSON object. Empty by default.
    package var itemsPath: [String]
    /// A record of this many bytes or more is a bad row. 1,000,000 by default.
    package var recordLimit: Int

    package init(
        format: ManifestFormat? = nil, urlColumn: String = "url", itemsPath: [String] = [], recordLimit: Int = 1_000_000
    ) {
        self.format = format
        self.urlColumn = urlColumn
        self.itemsPath = itemsPath
        self.recordLimit = recordLimit
    }
}

/// Where rows come from. One caller at a time; calls block.
package protocol RowSource: Sendable {
    /// At least one row and at most `count`; none at the end. What is there is given without waiting for more, and
    /// before an error that comes behind it is thrown.
    func next(_ count: Int) throws(ManifestError) -> [Row]
    /// What was left out of the list, for people; nil for nothing. To be asked at the end.
    var omission: String? { get }
    /// Ends a `next` that waits. Safe from any thread.
    func stop()
}

extension RowSource {
    package var omission: String? { nil }
}

/// Reads the rows of a manifest as a stream: memory does not grow with its length.
package final class ManifestReader: RowSource, @unchecked Sendable {
    // Sendable: `next` is called by one caller at a time, as the protocol demands; `stop` touches `source` alone.
    private let source: any ByteSource
    private let options: ManifestOptions
    private var opened: Opened?
    private var number = 0
    /// What ends the list behind the rows that were given.
    private var failure: ManifestError?

    /// The stream and the parser of its format.
    private final class Opened {
        var stream: ByteStream
        var parser: any RowParser
        init(_ stream: consuming ByteStream, _ options: ManifestOptions) {
            let decoder = RowDecoder(urlColumn: options.urlColumn)
            let limit = options.recordLimit
            let isInside = !options.itemsPath.isEmpty
            switch options.format
                ?? (isInside ? .json : ManifestFormat(sniffing: stream.unread, urlColumn: options.urlColumn))
            {
            case .txt: parser = TextRows(limit: limit)
            case .csv: parser = DelimitedRows(limit: limit, delimiter: UInt8(ascii: ","), decoder: decoder)
            case .tsv: parser = DelimitedRows(limit: limit, delimiter: 0x09, decoder: decoder)
            case .json: parser = JSONArrayRows(limit: limit, path: options.itemsPath, decoder: decoder)
            case .jsonl: parser = JSONLinesRows(limit: limit, decoder: decoder)
            }
            self.stream = stream
        }
    }

    /// Reads from `source`; nothing is read before the first `next`.
    package init(_ source: any ByteSource, options: ManifestOptions = .init()) {
        self.source = source
        self.options = options
    }

    /// A file, or standard input for `-`.
    package convenience init(path: String, options: ManifestOptions = .init()) throws(ManifestError) {
        var options = options
        options.format = options.format ?? ManifestFormat(name: path)
        self.init(try FileSource(path: path), options: options)
    }

    package func stop() { source.stop() }

    package func next(_ count: Int) throws(ManifestError) -> [Row] {
        if let failure { throw failure }
        let opened: Opened
        if let known = self.opened {
            opened = known
        } else {
            var stream = try ByteStream(source)
            if options.format == nil { try stream.fillFirstLine() }
            opened = Opened(stream, options)
            self.opened = opened
        }
        var rows: [Row] = []
        rows.reserveCapacity(count)
        while rows.count < count {
            if !rows.isEmpty, !opened.parser.hasRow(opened.stream), !opened.stream.isReady { break }
            do throws(ManifestError) {
                guard let row = try opened.parser.next(number + 1, &opened.stream) else { break }
                number += 1
                rows.append(row)
            } catch {
                if rows.isEmpty || error == .stopped { throw error }
                failure = error
                break
            }
        }
        return rows
    }
}
