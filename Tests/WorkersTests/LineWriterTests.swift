import Foundation
import Larder
import Testing

@testable import LarderWorkers

@Suite(.timeLimit(.minutes(1))) struct LineWriterTests {
    /// Both ends of a pipe; the writer closes the second.
    private let ends: (reading: Int32, writing: Int32)
    private static let brokenPipesAreErrors: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

    init() {
        _ = Self.brokenPipesAreErrors
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0)
        self.ends = (ends[0], ends[1])
    }

    /// Blocks that wait until the test runs them.
    private final class Held: Sendable {
        private let blocks = Lock<[@Sendable () -> Void]>([])
        var count: Int { blocks.withLock { $0.count } }
        func hold(_ block: @escaping @Sendable () -> Void) { blocks.withLock { $0.append(block) } }
        func run() {
            let held = blocks.withLock { blocks in
                defer { blocks = [] }
                return blocks
            }
            for block in held { block() }
        }
    }

    private func readOnce() -> String {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(ends.reading, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    /// Everything until the other end is closed, read by a thread.
    private func readAll() async -> [[UInt8]] {
        await withHandover { (handover: Handover<[[UInt8]]>) in
            let thread = Thread { [ends] in
                var reader = LineReader(descriptor: ends.reading)
                var lines: [[UInt8]] = []
                while let more = reader.next() { lines += more }
                handover.resume(returning: lines)
            }
            thread.start()
        }
    }

    @Test func linesThatWaitGoOutTogether() {
        defer { close(ends.reading) }
        let held = Held()
        let writer = LineWriter(ends.writing) { held.hold($0) }
        for word in ["one", "two", "three"] { writer.write(Array(word.utf8)) }
        #expect(held.count == 1)
        held.run()
        #expect(readOnce() == "one\ntwo\nthree\n")
        writer.write(Array("four".utf8))
        #expect(held.count == 1)
        held.run()
        #expect(readOnce() == "four\n")
    }

    @Test func aFullPipeKeepsNobodyWaitingAndLosesNothing() async {
        let writer = LineWriter(ends.writing)
        // Nobody reads yet.
        await withTaskGroup(of: Void.self) { group in
            for letter in UInt8(65)..<91 {
                group.addTask {
                    for length in stride(from: 0, to: 10_000, by: 500) {
                        writer.write([UInt8](repeating: letter, count: length + 1))
                    }
                }
            }
        }
        async let reading = readAll()
        await writer.flush()
        writer.close()
        let lines = await reading
        #expect(lines.count == 26 * 20)
        for letter in UInt8(65)..<91 {
            let own = lines.filter { $0[0] == letter }
            #expect(own.map(\.count) == Array(stride(from: 1, to: 10_000, by: 500)), "in order")
            #expect(own.allSatisfy { $0.allSatisfy { $0 == letter } }, "whole")
        }
        close(ends.reading)
    }

    @Test func closingWhileThePipeIsFullEndsTheInput() async {
        let held = Held()
        let writer = LineWriter(ends.writing) { held.hold($0) }
        writer.write([UInt8](repeating: 65, count: 1 << 20))
        held.run()
        writer.close()
        writer.write([66])
        #expect(held.count == 0)
        #expect(await readAll() == [], "the line is not whole, and the end comes")
        await writer.flush()
        close(ends.reading)
    }

    @Test(arguments: [1, 1 << 20]) func aReaderThatHasGoneKeepsNobodyWaiting(length: Int) async {
        let held = Held()
        let writer = LineWriter(ends.writing) { held.hold($0) }
        writer.write([UInt8](repeating: 65, count: length))
        if length > 1 { held.run() }
        close(ends.reading)
        held.run()
        await writer.flush()
        writer.close()
    }

    @Test func closesWhatItTookOver() {
        let writer = LineWriter(ends.writing)
        writer.close()
        #expect(readOnce().isEmpty)
        close(ends.reading)
    }
}
