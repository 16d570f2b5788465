import Foundation
import Larder

// URLSession alone against HTTPClient over URLSessionTransport: the same requests, the same number at once.
//
// Fetches BASE0 … BASE(COUNT-1) and reads every body; several bases, with commas between them, take turns.
//
//     URLSessionBench bare http://127.0.0.1:8080/100k/ 2000 4
//     URLSessionBench client http://127.0.0.1:8080/100k/,http://127.0.0.2:8080/100k/ 2000 4
//     URLSessionBench engine http://127.0.0.1:8080/100k/ 2000 8       8 requests at once, transfers as it comes

struct Job: Sendable {
    var bases: [String]
    var count: Int
    /// Transfers at once.
    var width: Int
    /// Requests at once.
    var asked: Int

    func url(_ index: Int) -> URL {
        guard let url = URL(string: bases[index % bases.count] + String(index)) else {
            fatalError("not URLs: \(bases)")
        }
        return url
    }
}

struct Outcome: Sendable {
    var bytes = 0
    var failed = 0
}

func warn(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }

func fetch(_ url: URL, _ client: HTTPClient) async -> Int? {
    do throws(ImageError) {
        let response = try await client.open(TransportRequest(url: url))
        guard response.status == 200 else { return nil }
        var bytes = 0
        while let chunk = try await response.body.next() { bytes += chunk.count }
        return bytes
    } catch {
        warn("\(error)")
        return nil
    }
}

func fetchAll(_ job: Job, _ client: HTTPClient) async -> Outcome {
    var outcome = Outcome()
    await withTaskGroup(of: Int?.self) { group in
        var next = 0
        while next < min(job.asked, job.count) {
            group.addTask { [next] in await fetch(job.url(next), client) }
            next += 1
        }
        for await size in group {
            outcome.bytes += size ?? 0
            if size == nil { outcome.failed += 1 }
            guard next < job.count else { continue }
            group.addTask { [next] in await fetch(job.url(next), client) }
            next += 1
        }
    }
    return outcome
}

let arguments = CommandLine.arguments
guard arguments.count == 5, ["bare", "client", "engine"].contains(arguments[1]), let count = Int(arguments[3]),
    let width = Int(arguments[4])
else {
    warn("usage: URLSessionBench bare|client|engine BASE[,BASE] COUNT PARALLEL")
    exit(2)
}
let isBare = arguments[1] == "bare"
let isEngine = arguments[1] == "engine"
// Where the transfers at once are set, twice as many requests: the transport's gate is never without one that waits.
let job = Job(
    bases: arguments[2].split(separator: ",").map(String.init), count: count, width: width,
    asked: isEngine ? width : width * 2)
let transport = URLSessionTransport(configuration: .init(transfersAtOnce: isEngine ? nil : width))
let begin = ContinuousClock.now
let outcome = isBare ? Bare(job).run() : await fetchAll(job, HTTPClient(transport: transport))
let time = ContinuousClock.now - begin
let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
var usage = rusage()
getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
let processor =
    Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
    / 1e6
print(
    arguments[1], "\(Int(Double(count) / seconds)) GETs/s", String(format: "%.2f s, %.2f s of CPU", seconds, processor),
    "\(outcome.failed) failed, \(transport.stallRetries) begun anew", separator: "  ")
