import Foundation
import Larder
import Testing

@testable import LarderPrefetch

@Suite struct SampleImagesTests {
    @Test func theyAreWholeAndOfSeveralKinds() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("samples-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // Three pictures hold every kind but alpha; the fifth scene has that.
        for index in [0, 1, 2, 4] {
            let (name, bytes) = try SampleImages.picture(index, reduction: 16)
            let facts = bytes.withUnsafeBytes { ImageInspector.inspect($0, deep: true) }
            #expect(facts.isValid && facts.bytes > 1_000, "\(name)")
            #expect(facts.format == (index == 4 ? .png : .jpeg))
            #expect(facts.header?.hasAlpha == (index == 4))
            #expect(facts.header?.isProgressive == (index == 1))
            #expect(facts.orientation == (index == 2 ? 6 : nil))
        }
        let names = try SampleImages.write(to: folder, count: 2, reduction: 16)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == names)
        #expect(names == ["001-hills.jpg", "002-julia.jpg"])
    }
}
