import Foundation
import Testing

@testable import LarderWorkers

@Suite(.timeLimit(.minutes(1))) struct LineReaderTests {
    private let pipe = Pipe()
    private var descriptor: Int32 { pipe.fileHandleForReading.fileDescriptor }

    private func end() { try? pipe.fileHandleForWriting.close() }
    private static func text(_ lines: [[UInt8]]?) -> [String]? {
        lines.map { $0.map { String(decoding: $0, as: UTF8.self) } }
    }

    @Test func linesThatCameTogetherAreReadTogether() {
        var reader = LineReader(descriptor: descriptor)
        pipe.fileHandleForWriting.write(Data("one\ntwo\n\nthr".utf8))
        #expect(Self.text(reader.next()) == ["one", "two", ""])
        pipe.fileHandleForWriting.write(Data("ee\nfour\n".utf8))
        #expect(Self.text(reader.next()) == ["three", "four"])
        end()
        #expect(reader.next() == nil)
    }

    @Test func anUnfinishedLastLineIsDropped() {
        pipe.fileHandleForWriting.write(Data("one\ntwo".utf8))
        end()
        var reader = LineReader(descriptor: descriptor)
        #expect(Self.text(reader.next()) == ["one"])
        #expect(reader.next() == nil)
    }

    @Test func linesLongerThanTheBufferAreWhole() {
        let lengths = [10, 65_536, 65_535, 300_000, 1, 70_000, 0, 131_072]
        let thread = Thread { [self] in
            for (index, length) in lengths.enumerated() {
                pipe.fileHandleForWriting.write(Data(repeating: UInt8(65 + index), count: length) + [10])
            }
            end()
        }
        thread.start()
        var reader = LineReader(descriptor: descriptor)
        var lines: [[UInt8]] = []
        while let more = reader.next() { lines += more }
        #expect(lines.map(\.count) == lengths)
        for (index, line) in lines.enumerated() { #expect(line.allSatisfy { $0 == UInt8(65 + index) }) }
    }

    @Test func aLineBeyondTheLimitEndsTheInput() {
        let thread = Thread { [self] in
            pipe.fileHandleForWriting.write(
                Data("ok\n".utf8) + Data(repeating: 65, count: 300_000) + Data("\nmore\n".utf8))
            end()
        }
        thread.start()
        var reader = LineReader(descriptor: descriptor, maxLength: 1000)
        #expect(Self.text(reader.next()) == ["ok"])
        #expect(reader.next() == nil)
        // Who writes must not wait for good.
        _ = pipe.fileHandleForReading.readDataToEndOfFile()
    }
}
