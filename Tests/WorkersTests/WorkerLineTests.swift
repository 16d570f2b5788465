import Foundation
import Testing

@testable import LarderWorkers

@Suite struct WorkerLineTests {
    @Test func theRowStandsFirst() {
        #expect(WorkerLine.row(of: Array(#"{"row":12,"url":"x"}"#.utf8)) == 12)
        #expect(WorkerLine.row(of: Array(#"{"row":0}"#.utf8)) == 0)
        for bad in ["", "{", #"{"row":}"#, #"{"row":-1}"#, #"{"url":"x","row":1}"#, #"{"row":"#] {
            #expect(WorkerLine.row(of: Array(bad.utf8)) == nil)
        }
    }

    @Test func onlyACancelIsACancel() {
        #expect(WorkerLine.isCancel(WorkerLine.cancel(row: 5)))
        #expect(!WorkerLine.isCancel(Array(#"{"row":5,"cancel":false}"#.utf8)))
        #expect(!WorkerLine.isCancel(Array(#"{"row":5,"cancel":true,"url":"x"}"#.utf8)))
    }

    @Test func anUnfinishedLastLineIsDropped() {
        let pipe = Pipe()
        pipe.fileHandleForWriting.write(Data("one\ntwo\n\nthree".utf8))
        try? pipe.fileHandleForWriting.close()
        var reader = LineReader(descriptor: pipe.fileHandleForReading.fileDescriptor)
        var lines: [String] = []
        while let line = reader.next() { lines.append(String(decoding: line, as: UTF8.self)) }
        #expect(lines == ["one", "two", ""])
    }

    @Test func aLineBeyondTheLimitEndsTheInput() {
        let pipe = Pipe()
        let writer = Thread {
            pipe.fileHandleForWriting.write(Data("ok\n".utf8) + Data(repeating: 65, count: 300_000))
            try? pipe.fileHandleForWriting.close()
        }
        writer.start()
        var reader = LineReader(descriptor: pipe.fileHandleForReading.fileDescriptor, maxLength: 1000)
        #expect(reader.next().map { String(decoding: $0, as: UTF8.self) } == "ok")
        #expect(reader.next() == nil)
    }
}
