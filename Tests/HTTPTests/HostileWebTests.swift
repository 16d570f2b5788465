import Foundation
import TestSupport
import Testing

@testable import Larder

/// Every case of the hostile web over every transport: the right code, in time, and nothing left behind.
@Suite(.timeLimit(.minutes(2))) struct HostileWebTests {
    @Test(arguments: HostileCase.all.filter { !$0.endsURLSession })
    func overURLSession(_ hostile: HostileCase) async throws {
        try await check(hostile, over: URLSessionTransport(configuration: .init(transfersAtOnce: 4, stallTimeout: 4)))
    }

    /// Documented, not hidden: these end the process of whoever uses URLSession of Swift 6.3. Once this test fails,
    /// the fault has gone and the cases belong above.
    @Test(arguments: HostileCase.all.filter(\.endsURLSession))
    func endsAProcessOverURLSession(_ hostile: HostileCase) async throws {
        await #expect(processExitsWith: .failure) { [name = hostile.name as String] in
            guard let hostile = HostileCase.all.first(where: { $0.name == name }) else { return }
            let origin = try Origin()
            hostile.prepare(origin)
            _ = try? await load(origin.url("/image"), over: URLSessionTransport())
        }
    }

    #if Curl
        @Test(arguments: HostileCase.all)
        func overCurl(_ hostile: HostileCase) async throws {
            try await check(hostile, over: CurlTransport(configuration: .init(proxy: .none)))
        }
    #endif

    private func check(_ hostile: HostileCase, over make: @autoclosure () -> any Transport) async throws {
        let origin = try Origin()
        hostile.prepare(origin)
        await fetch(hostile, from: origin, over: make())
        // The transport has been released: whatever it still had open is a leak.
        if origin.connections > 0 { await origin.allConnectionsClosed() }
    }

    private func fetch(_ hostile: HostileCase, from origin: Origin, over transport: any Transport) async {
        var detail = ""
        var outcome = HostileCase.Outcome.image
        do throws(ImageError) {
            let bytes = try await load(
                origin.url("/image"), over: transport, deadlines: hostile.deadlines(over: transport.name))
            #expect(bytes.starts(with: HostileCase.image))
        } catch {
            outcome = .failure(error.code)
            detail = error.details.detail
            #expect(error.url?.contains("secret") == false)
        }
        #expect(outcome == hostile.outcome(over: transport.name), "\(detail)")
    }
}

/// What stands above a transport in the engine, without retries and cache.
func load(
    _ url: URL, over transport: any Transport, deadlines: Deadlines = .init()
) async throws(ImageError) -> [UInt8] {
    let client = HTTPClient(transport: transport)
    let response = try await client.open(.init(url: url, deadlines: deadlines))
    do throws(ImageError) {
        var validator = try ResponseValidator(
            status: response.status, fields: response.fields, maxBytes: HostileCase.maxBytes, inspector: PNGEnds())
        var bytes: [UInt8] = []
        while let chunk = try await response.body.next() {
            try validator.receive(chunk)
            bytes += chunk
        }
        try validator.finish()
        return bytes
    } catch {
        response.body.cancel()
        throw error.at(response.url)
    }
}

/// Sees whether a body begins as a PNG does and contains its end: what the header parser and the decoder are in the
/// engine.
struct PNGEnds: BodyInspector {
    private var bytes: [UInt8] = []

    mutating func receive(_ chunk: UnsafeRawBufferPointer) throws(ImageError) {
        bytes.append(contentsOf: chunk)
        guard bytes.prefix(8).elementsEqual(HostileCase.image.prefix(min(8, bytes.count))) else {
            throw .notAnImage(.init("no PNG"))
        }
    }

    mutating func finish() throws(ImageError) {
        guard bytes.count >= HostileCase.image.count else { throw .truncated(.init("no end")) }
    }
}
