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
}
