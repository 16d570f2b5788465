import Larder
import LarderWorkers

/// `--dry-run`: what a manifest asks for, without any network.
package struct Survey: Sendable {
    package private(set) var rows = 0
    package private(set) var bad = 0
    package private(set) var duplicates = 0
    package private(set) var cached = 0
    package private(set) var hosts = 0

    /// To be fetched.
    package var missing: Int { rows - bad - duplicates - cached }

    /// Reads every row. Memory: 20 bytes a row and its hosts' names.
    package static func run(_ source: any RowSource, runner: any RowRunner) async throws(ManifestError) -> Survey {
        let reading = BlockingExecutor(name: "larder-manifest", width: 1)
        var survey = Survey()
        var index = DuplicateIndex()
        var hosts: Set<String> = []
        while true {
            let rows = try await reading.perform { () -> Result<[Row], ManifestError> in
                do throws(ManifestError) { return .success(try source.next(256)) } catch { return .failure(error) }
            }.get()
            if rows.isEmpty { break }
            survey.rows += rows.count
            var fresh: [Row] = []
            for row in rows {
                guard row.problem == nil, let identity = runner.identity(of: row) else {
                    survey.bad += 1
                    continue
                }
                hosts.insert(identity.host)
                if index.insert(identity, row: row.number) == nil { fresh.append(row) } else { survey.duplicates += 1 }
            }
            for result in await runner.answer(fresh) {
                guard let result else { continue }
                if result.isSuccess { survey.cached += 1 } else { survey.bad += 1 }
            }
        }
        survey.hosts = hosts.count
        return survey
    }

    package var json: [UInt8] {
        var object = JSONWriter()
        object.raw("{")
        object.member("total", rows)
        object.member("bad_rows", bad)
        object.member("duplicates", duplicates)
        object.member("cached", cached)
        object.member("to_fetch", missing)
        object.member("hosts", hosts)
        object.raw("}\n")
        return object.bytes
    }

    package var text: [String] {
        [
            "\(Amount.count(rows)) rows, \(Amount.count(hosts)) hosts",
            "  \(Amount.count(cached)) are in the cache and fresh",
            "  \(Amount.count(duplicates)) repeat another row",
            "  \(Amount.count(bad)) are not usable",
            "  \(Amount.count(missing)) would be fetched",
        ]
    }
}
