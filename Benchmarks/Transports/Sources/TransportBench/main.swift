import Foundation
import Larder

// Fetches BASE/0 … BASE/COUNT-1 with so many at once and reads every body.
//
//     TransportBench curl http://127.0.0.1:8080/8k/ 20000 16          the rate
//     TransportBench urlsession http://127.0.0.1:8080/8k/ 20000 4
//     TransportBench storm http://127.0.0.1:8080/8k/ 100000 32        every second one cancelled at some point:
//                                                                     descriptors and memory before and after

let arguments = CommandLine.arguments
guard arguments.count == 5, let count = Int(arguments[3]), let width = Int(arguments[4]) else {
    FileHandle.standardError.write(Data("usage: TransportBench curl|urlsession|storm BASE COUNT PARALLEL\n".utf8))
    exit(2)
}
let mode = arguments[1]
let base = arguments[2]
// A storm's connections are gone soon after its end.
let transport: any Transport =
    mode == "urlsession"
    ? URLSessionTransport() : CurlTransport(configuration: .init(idleLifetime: mode == "storm" ? 0.2 : 60))
let client = HTTPClient(transport: transport)

/// The body's length, or nil where it failed.
@Sendable func fetch(_ index: Int, chunks: Int = .max) async -> Int? {
    guard let url = URL(string: base + String(index)) else { return nil }
    do throws(ImageError) {
        let response = try await client.open(TransportRequest(url: url))
        guard response.status == 200 else { return nil }
        var (bytes, read) = (0, 0)
        while read < chunks, let chunk = try await response.body.next() {
            bytes += chunk.count
            read += 1
        }
        return bytes
    } catch {
        if error.code != "cancelled" { FileHandle.standardError.write(Data("\(error)\n".utf8)) }
        return nil
    }
}

/// Reads all, lets go of the body early, or is cancelled after a random pause.
@Sendable func fetchInStorm(_ index: Int) async -> Int? {
    var random = UInt64(index) &* 0x9E37_79B9_7F4A_7C15
    random = (random ^ random >> 30) &* 0xBF58_476D_1CE4_E5B9
    switch random >> 60 {
    case 0..<8: return await fetch(index)
    case 8..<10: return await fetch(index, chunks: Int(random >> 59 & 1))
    default:
        let task = Task { await fetch(index) }
        if random >> 59 & 1 == 0 {
            for _ in 0..<(random >> 32 & 63) { await Task.yield() }
        } else {
            try? await Task.sleep(nanoseconds: random >> 32 & 0xFFFFF)
        }
        task.cancel()
        return await task.value
    }
}

func run(_ range: Range<Int>, _ body: @escaping @Sendable (Int) async -> Int?) async -> (bytes: Int, whole: Int) {
    var (bytes, whole) = (0, 0)
    await withTaskGroup(of: Int?.self) { group in
        var next = range.lowerBound
        while next < min(range.lowerBound + width, range.upperBound) {
            let index = next
            group.addTask { await body(index) }
            next += 1
        }
        for await size in group {
            if let size {
                bytes += size
                whole += 1
            }
            if next < range.upperBound {
                let index = next
                group.addTask { await body(index) }
                next += 1
            }
        }
    }
    return (bytes, whole)
}

/// Open descriptors, threads, and resident memory in KiB.
func footprint() -> String {
    let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let lines = status.split(separator: "\n").filter { $0.hasPrefix("VmRSS") || $0.hasPrefix("Threads") }
    return "\(descriptors) descriptors, "
        + lines.map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
        .joined(separator: ", ")
}

let clock = ContinuousClock()
func seconds(since start: ContinuousClock.Instant) -> Double {
    let time = (clock.now - start).components
    return Double(time.seconds) + Double(time.attoseconds) / 1e18
}

let start = clock.now
if mode == "storm" {
    for part in 0...10 {
        // The first tenth warms up: arenas of malloc, threads of the pools.
        let range = part == 0 ? 0..<(count / 10) : (part - 1) * count / 10..<part * count / 10
        let (_, whole) = await run(range, fetchInStorm)
        // Until the idle transport has ended its thread, with every connection.
        try? await Task.sleep(nanoseconds: 500_000_000)
        print(
            "\(part == 0 ? "warm-up" : "\(range.upperBound)"): \(whole) of \(range.count) whole or let go; \(footprint())"
        )
    }
} else {
    let (bytes, whole) = await run(0..<count) { await fetch($0) }
    let time = seconds(since: start)
    print("\(transport.name): \(Int(Double(whole) / time)) GETs/s, \(bytes) bytes in \(time) s")
    if whole < count { exit(1) }
}
