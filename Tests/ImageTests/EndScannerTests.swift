import TestSupport
import Testing

@testable import Larder

@Suite struct EndScannerTests {
    static func isComplete(_ bytes: some Collection<UInt8>, _ format: ImageFormat, chunk: Int = .max) -> Bool? {
        var scanner = EndScanner(format)
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            Array(rest.prefix(chunk)).withUnsafeBytes { scanner.feed($0) }
            rest = rest.dropFirst(chunk)
        }
        return scanner.isComplete
    }

    @Test(.enabled(if: Corpus.isPresent, Comment(rawValue: Corpus.missing)))
    func everyGoodImageEndsAndNoHalfOfOneDoes() throws {
        var count = 0
        for record in Corpus.records(in: "good") where record.expect == "ok" {
            // An MPO is several whole pictures: half of it may be one.
            if record.file.contains("jpeg-mpo") { continue }
            guard let format = ImageFormat(rawValue: record.format), [.jpeg, .png].contains(format) else { continue }
            let bytes = try Corpus.bytes(record.file)
            #expect(Self.isComplete(bytes, format) == true, "\(record.file)")
            #expect(Self.isComplete(bytes, format, chunk: 1) == true, "\(record.file) byte by byte")
            #expect(Self.isComplete(bytes.prefix(bytes.count / 2), format) == false, "half of \(record.file)")
            count += 1
        }
        #expect(count > 100)
    }

    @Test(
        .enabled(if: Corpus.isPresent, Comment(rawValue: Corpus.missing)),
        arguments: [
            ("bad/jpeg-no-eoi__derived_no_eoi.jpg", false),
            ("bad/jpeg-truncated__derived_half_baseline.jpg", false),
            ("bad/jpeg-truncated__derived_half_progressive.jpg", false),
            ("bad/jpeg-trailing__derived_random_4k.jpg", true),
            ("bad/png-truncated__derived_half.png", false),
            ("bad/png-truncated__derived_no_iend.png", false),
            ("bad/png-trailing__derived_2k_after_iend.png", true),
        ])
    func whatIsCutHasNoEndAndWhatIsBehindItDoesNotMatter(file: String, isComplete: Bool) throws {
        let bytes = try Corpus.bytes(file)
        #expect(Self.isComplete(bytes, file.hasSuffix("png") ? .png : .jpeg) == isComplete)
    }

    @Test func otherFormatsAreNotFollowed() {
        #expect(Self.isComplete([1, 2, 3], .gif) == nil)
    }

    @Test func anyBytesAreSurvived() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let bytes = (0..<500).map { _ in
                [0xFF, 0xD8, 0xDA, 0, 1, UInt8.random(in: 0...255, using: &random)].randomElement()!
            }
            for format in [ImageFormat.jpeg, .png] {
                #expect(Self.isComplete(bytes, format) == Self.isComplete(bytes, format, chunk: 3))
            }
        }
    }
}
