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

    /// The search goes block by block: an end is found at every place of a block, across two, and in what is left.
    @Test func theEndOfAScanIsFoundWhereverItIs() {
        let start: [UInt8] = [0xFF, 0xD8, 0xFF, 0xDA, 0, 2]
        // What looks like an end and is none stands everywhere else.
        let filler: [UInt8] = [0xFF, 0x00, 7, 0xFF, 0xD3, 0xD9, 0x00, 0xFF, 0xD7, 0xFE]
        for length in 0..<300 {
            let scan = (0..<length).map { filler[$0 % filler.count] }
            // Cut in the middle of a pair, the end would be that of the pair.
            guard scan.last != 0xFF else { continue }
            #expect(Self.isComplete(start + scan, .jpeg) == false, "\(length) bytes")
            for step in [1, 63, 64, 65, .max] {
                #expect(Self.isComplete(start + scan + [0xFF, 0xD9], .jpeg, chunk: step) == true, "\(length) bytes")
            }
        }
    }
}
