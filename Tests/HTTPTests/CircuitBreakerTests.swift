import TestSupport
import Testing

@testable import Larder

@Suite struct CircuitBreakerTests {
    private let time = ManualTime()
    private let down = ImageError.unreachable(.init("refused"))

    private func breaker(_ change: (inout CircuitBreaker.Options) -> Void = { _ in }) -> CircuitBreaker {
        var options = CircuitBreaker.Options()
        options.threshold = 3
        options.rest = 10
        options.maxRest = 30
        change(&options)
        return CircuitBreaker(options: options, time: time)
    }

    private func isOpen(_ breaker: CircuitBreaker, _ host: String = "a") -> Bool {
        do throws(ImageError) {
            try breaker.check(host)
            return false
        } catch { return true }
    }

    @Test func aHostThatKeepsFailingIsRestedAndOthersAreNot() {
        let breaker = breaker()
        for _ in 0..<2 { breaker.failed("a", down) }
        #expect(!isOpen(breaker))
        breaker.failed("a", down)
        #expect(isOpen(breaker))
        #expect(!isOpen(breaker, "b"))
        let error = #expect(throws: ImageError.self) { try breaker.check("a") }
        #expect(error?.code == "unreachable" && error?.isRetryable == true && error?.details.retryAfter == 10)
    }

    @Test func afterTheRestOneTriesAndItsSuccessEndsIt() {
        let breaker = breaker()
        for _ in 0..<3 { breaker.failed("a", down) }
        time.advance(seconds: 10)
        #expect(!isOpen(breaker))
        #expect(isOpen(breaker), "only one tries")
        breaker.succeeded("a")
        #expect(!isOpen(breaker) && !isOpen(breaker))
        #expect(breaker.count == 0)
    }

    @Test func aFailedTrialDoublesTheRestUpToALimit() {
        let breaker = breaker()
        for _ in 0..<3 { breaker.failed("a", down) }
        for rest in [10.0, 20, 30, 30] {
            time.advance(seconds: rest - 0.5)
            #expect(isOpen(breaker))
            time.advance(seconds: 0.5)
            #expect(!isOpen(breaker))
            breaker.failed("a", down)
        }
    }

    @Test func whatIsNoAnswerOfTheHostEndsNoRow() {
        for error: ImageError in [.timedOut(.total, .init("")), .cancelled(.init("")), .refused(.address, .init(""))] {
            let breaker = breaker()
            for _ in 0..<2 { breaker.failed("a", down) }
            breaker.failed("a", error)
            breaker.failed("a", down)
            #expect(isOpen(breaker), "\(error.code)")
        }
        for error: ImageError in [.notAnImage(.init("")), .refused(.filter, .init("")), .httpStatus(404, .init(""))] {
            let breaker = breaker()
            for _ in 0..<2 { breaker.failed("a", down) }
            breaker.failed("a", error)
            breaker.failed("a", down)
            #expect(!isOpen(breaker), "\(error.code)")
        }
    }

    @Test func aTrialThatWasCancelledLeavesTheNextOneToTry() {
        let breaker = breaker()
        for _ in 0..<3 { breaker.failed("a", down) }
        time.advance(seconds: 10)
        #expect(!isOpen(breaker))
        breaker.failed("a", .cancelled(.init()))
        #expect(!isOpen(breaker))
        breaker.gaveUp("a")
        #expect(!isOpen(breaker))
    }

    @Test func anAnswerOfAnyKindCountsAsAlive() {
        let breaker = breaker()
        for _ in 0..<2 { breaker.failed("a", down) }
        breaker.failed("a", .httpStatus(404, .init()))
        for _ in 0..<2 { breaker.failed("a", down) }
        #expect(!isOpen(breaker))
        for status in [502, 503, 504] { #expect(CircuitBreaker.isFaultOfHost(.httpStatus(status, .init()))) }
        for error in [ImageError.httpStatus(500, .init()), .notAnImage(.init()), .timedOut(.total, .init())] {
            #expect(!CircuitBreaker.isFaultOfHost(error))
        }
    }

    @Test func ofManyUnderWayTheFirstBeginsTheRest() {
        let breaker = breaker()
        for _ in 0..<3 { breaker.failed("a", down) }
        time.advance(seconds: 5)
        breaker.failed("a", down)
        time.advance(seconds: 5)
        #expect(!isOpen(breaker))
    }

    @Test func memoryIsBounded() {
        let breaker = breaker { $0.maxHosts = 64 }
        for number in 0..<10_000 { breaker.failed("host\(number)", down) }
        #expect(breaker.count <= 64)
    }

    @Test func zeroTurnsItOff() {
        let breaker = breaker { $0.threshold = 0 }
        for _ in 0..<100 { breaker.failed("a", down) }
        #expect(!isOpen(breaker) && breaker.count == 0)
    }
}
