import Foundation
import Larder

// Fetches URLs BASE/0 … BASE/COUNT-1 with so many at once, reads every body, and prints the rate.
//
//     TransportBench curl http://127.0.0.1:8080/8k/ 8000 16

let arguments = CommandLine.arguments
guard arguments.count == 5, let count = Int(arguments[3]), let width = Int(arguments[4]) else {
    FileHandle.standardError.write(Data("usage: TransportBench curl BASE COUNT PARALLEL\n".utf8))
    exit(2)
}
let base = arguments[2]
let client = HTTPClient(transport: CurlTransport())

func fetch(_ index: Int) async -> Int {
    guard let url = URL(string: base + String(index)) else { return 0 }
    do throws(ImageError) {
        let response = try await client.open(TransportRequest(url: url))
        guard response.status == 200 else { return 0 }
        var bytes = 0
        while let chunk = try await response.body.next() { bytes += chunk.count }
        return bytes
    } catch {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        return 0
    }
}

let clock = ContinuousClock()
var bytes = 0
let time = await clock.measure {
    await withTaskGroup(of: Int.self) { group in
        var next = 0
        while next < min(width, count) {
            let index = next
            group.addTask { await fetch(index) }
            next += 1
        }
        for await size in group {
            bytes += size
            if next < count {
                let index = next
                group.addTask { await fetch(index) }
                next += 1
            }
        }
    }
}
let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
print("\(client.transport.name): \(Int(Double(count) / seconds)) GETs/s, \(bytes) bytes in \(seconds) s")
