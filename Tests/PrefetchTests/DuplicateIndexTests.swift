import Larder
import LarderWorkers
import Testing

@testable import LarderPrefetch

struct DuplicateIndexTests {
    private func identity(_ number: Int) -> RowIdentity {
        let hash = CacheKey(url: "http://a/\(number)").hash
        return RowIdentity(high: hash.high, low: hash.low, host: "a")
    }

    @Test func knowsTheFirstRowOfEach() {
        var index = DuplicateIndex()
        for row in 1...5000 {
            let answer = index.insert(identity(row), row: row)
            #expect(answer == nil)
        }
        for row in 1...5000 {
            let answer = index.insert(identity(row), row: row + 9000)
            #expect(answer == .init(row: row, place: nil))
        }
        #expect(index.count == 5000)
        index.set(place: 7, of: identity(3))
        let answer1 = index.insert(identity(3), row: 1)
        #expect(answer1 == .init(row: 3, place: 7))
    }

    @Test func tellsApartWhatSharesHalfItsBits() {
        var index = DuplicateIndex()
        let answer2 = index.insert(RowIdentity(high: 1, low: 1, host: ""), row: 1)
        #expect(answer2 == nil)
        let answer3 = index.insert(RowIdentity(high: 1, low: 2, host: ""), row: 2)
        #expect(answer3 == nil)
        let answer4 = index.insert(RowIdentity(high: 2, low: 1, host: ""), row: 3)
        #expect(answer4 == nil)
        let answer5 = index.insert(RowIdentity(high: 1, low: 2, host: ""), row: 4)
        #expect(answer5?.row == 2)
    }

    @Test func doesNotRememberRowsBeyondItsRange() {
        var index = DuplicateIndex()
        let answer6 = index.insert(identity(1), row: 1 << 33)
        #expect(answer6 == nil)
        let answer7 = index.insert(identity(1), row: 5)
        #expect(answer7 == nil)
        let answer8 = index.insert(identity(1), row: 6)
        #expect(answer8?.row == 5)
    }
}

struct OutcomeLogTests {
    private let results = (0..<2000).map { number in
        number % 2 == 0
            ? RowResult(outcome: .success(.network), bytes: number * 1000, tail: Array("\"status\":\(number)".utf8))
            : RowResult(outcome: .failure(code: "code_\(number)"), tail: Array(repeating: 65, count: number % 300))
    }

    @Test func givesBackWhatItTook() throws {
        let log = OutcomeLog()
        var places: [UInt32] = []
        for (number, result) in results.enumerated() {
            places.append(try #require(log.append(result).place))
            if number == 700 || number == 1500 { log.flush() }
        }
        for (place, result) in zip(places, results) { #expect(log.read(place) == result) }
        log.flush()
        for (place, result) in zip(places, results) { #expect(log.read(place) == result) }
    }

    @Test func asksToBeFlushedBeforeItGrows() {
        let log = OutcomeLog()
        var flushes = 0
        for result in results where log.append(result).isFlushDue {
            log.flush()
            flushes += 1
        }
        #expect(flushes > 1)
    }

    @Test func staysInMemoryWithoutAPlaceForItsFile() {
        let log = OutcomeLog(directories: ["/nonexistent"])
        let place = log.append(results[1]).place
        log.flush()
        #expect(place.flatMap { log.read($0) } == results[1])
        var taken = 0
        let large = RowResult(outcome: .success(.network), tail: Array(repeating: 65, count: 50_000))
        while log.append(large).place != nil, taken < 1000 { taken += 1 }
        #expect(taken < 200, "what cannot be written is bounded")
    }

    @Test func readsNothingFromNowhere() {
        let log = OutcomeLog()
        #expect(log.read(0) == nil)
        #expect(log.read(1 << 30) == nil)
    }
}
