import TestSupport
import Testing

@testable import Larder

struct UsagePageTests {
    private func page(_ now: Int64 = 1000) -> UsagePage {
        UsagePage(boot: Array(0..<16), now: Timestamp(milliseconds: now))
    }

    @Test func everyFlippedByteIsFound() throws {
        var page = page()
        for folder in 0..<256 { page.set(folder, bytes: Int64(folder) * 4096, count: folder) }
        page.seal()
        let sum: Int64 = 4096 * 255 * 128
        #expect(UsagePage(page.bytes)?.total?.bytes == sum)
        for index in page.bytes.indices where !(56..<64).contains(index) {
            var bytes = page.bytes
            bytes[index] ^= 0x40
            #expect(UsagePage(bytes) == nil, "byte \(index)")
        }
        #expect(UsagePage(Array(page.bytes.dropLast())) == nil)
    }

    @Test func sumsNeverWrap() {
        var page = page()
        for folder in 0..<256 { page.set(folder, bytes: 10, count: 1) }
        page.add(0, bytes: -100, count: -5)
        page.add(1, bytes: .max, count: .max / 2)
        page.add(2, bytes: .min, count: .min / 2)
        // One at nothing, one at the greatest, one at nothing, the others as they were.
        let expected: Int64 = (Int64.max >> 12) + 253 * 10
        #expect(page.total?.bytes == expected)
        page.seal()
        #expect(UsagePage(page.bytes) != nil)
    }

    @Test func theTotalIsUnknownWhileOneFolderIs() {
        var page = page()
        for folder in 0..<255 { page.set(folder, bytes: 0, count: 0) }
        #expect(page.total == nil)
        page.set(255, bytes: 1, count: 1)
        #expect(page.total?.bytes == 1)
        page.markDirty(3)
        #expect(page.total == nil)
        #expect(page.dirtyFolders == [3])
    }

    @Test func theClockFollowsOnlyBelievableSteps() {
        var page = page(1000)
        page.advanceClock(Timestamp(milliseconds: 6000))
        #expect(page.time(at: Timestamp(milliseconds: 6500)).milliseconds == 6500)
        page.advanceClock(Timestamp(milliseconds: 2000))
        #expect(page.time(at: Timestamp(milliseconds: 2000)).milliseconds == 6000)
        page.advanceClock(Timestamp(milliseconds: 2500))
        #expect(page.time(at: Timestamp(milliseconds: 2500)).milliseconds == 6500)
        let years = Timestamp(milliseconds: 300_000_000_000)
        #expect(page.time(at: years).milliseconds == 6500)
        page.advanceClock(years)
        #expect(page.time(at: years.adding(seconds: 1)).milliseconds == 7500)
        page.advanceClock(.distantFuture)
        #expect(page.time(at: .distantPast).milliseconds == 6500)
    }
}
