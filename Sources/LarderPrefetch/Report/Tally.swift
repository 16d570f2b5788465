import LarderWorkers

/// What a job has done so far, counted line by line: success + failure = total, always.
package struct Tally: Sendable {
    package private(set) var success = 0
    package private(set) var failure = 0
    /// Failures that were asked for by a filter: they do not count for the exit status.
    package private(set) var filtered = 0
    package private(set) var fromNetwork = 0
    package private(set) var fromDisk = 0
    package private(set) var revalidated = 0
    package private(set) var duplicates = 0
    /// Bytes of the images that came from the network.
    package private(set) var bytes = 0
    package private(set) var errors: [String: Int] = [:]
    /// The first failures, for people.
    package private(set) var samples: [Sample] = []

    package struct Sample: Sendable {
        package var row: Int
        package var url: String
        package var result: RowResult
    }

    package var total: Int { success + failure }
    static let sampleCount = 5

    package init() {}

    package mutating func count(_ row: Row, _ result: RowResult, isDuplicate: Bool) {
        if isDuplicate { duplicates += 1 }
        switch result.outcome {
        case .success(let source):
            success += 1
            switch isDuplicate ? .disk : source {
            case .network:
                fromNetwork += 1
                bytes += result.bytes
            case .disk: fromDisk += 1
            case .revalidated: revalidated += 1
            }
        case .failure(let code):
            failure += 1
            if code == "filtered" { filtered += 1 }
            errors[code, default: 0] += 1
            if samples.count < Self.sampleCount, code != "cancelled", code != "filtered" {
                samples.append(Sample(row: row.number, url: row.url, result: result))
            }
        }
    }

    /// Codes with their numbers, the most frequent first.
    package var sortedErrors: [(code: String, count: Int)] {
        errors.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) }
    }
}
