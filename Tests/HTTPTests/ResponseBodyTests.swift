import Testing

@testable import Larder

@Suite struct ResponseBodyTests {
    private let body = ResponseBody()

    private func push(_ count: Int, gathering least: Int) {
        _ = [UInt8](repeating: 7, count: count).withUnsafeBytes { body.push($0, gathering: least) }
    }

    /// Starts a consumer and returns once it waits.
    private func consumer() async -> Task<Int?, any Error> {
        let task = Task { [body] in try await body.next()?.count }
        while !body.isAwaited, !Task.isCancelled { await Task.yield() }
        return task
    }

    @Test func theFirstPieceWakesAtOnceAndSmallOnesAreGathered() async throws {
        var next = await consumer()
        push(10, gathering: 100)
        #expect(try await next.value == 10)

        next = await consumer()
        push(40, gathering: 100)
        push(50, gathering: 100)
        #expect(body.isAwaited, "90 of 100 bytes wake nobody")
        push(10, gathering: 100)
        #expect(try await next.value == 100)
    }

    @Test func whatWasGatheredIsDeliveredWhenAsked() async throws {
        push(1, gathering: 100)
        #expect(try await body.next()?.count == 1)
        let next = await consumer()
        push(3, gathering: 100)
        body.deliver()
        #expect(try await next.value == 3)
        body.deliver()
    }

    @Test func whatWasGatheredComesBeforeTheEnd() async throws {
        push(1, gathering: 100)
        #expect(try await body.next()?.count == 1)
        let next = await consumer()
        push(3, gathering: 100)
        body.finish(.unreachable(.init("cut")))
        #expect(try await next.value == 3)
        let error = await #expect(throws: ImageError.self) { try await body.next() }
        #expect(error?.code == "unreachable")
    }

    @Test func handedOverBytesGoBehindGatheredOnes() async throws {
        push(1, gathering: 100)
        #expect(try await body.next()?.count == 1)
        let next = await consumer()
        push(3, gathering: 100)
        body.push([1, 2])
        #expect(try await next.value == 5)
    }
}
