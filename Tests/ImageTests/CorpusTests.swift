import Foundation
import TestSupport
import Testing

@testable import Larder

@Suite(.enabled(if: Corpus.isPresent, Comment(rawValue: Corpus.missing)))
struct CorpusTests {
    @Test func headersAgreeWithTheIndex() throws {
        for record in Corpus.records(in: "good") + Corpus.records(in: "photos") {
            let facts = ImageInspector.inspect(path: Corpus.path(record.file))
            guard let expected = ImageFormat(rawValue: record.format == "cur" ? "ico" : record.format) else {
                #expect(!facts.isValid, "\(record.file)")
                continue
            }
            #expect(facts.isValid, "\(record.file): \(facts.error?.details.detail ?? "")")
            #expect(facts.format == expected, "\(record.file)")
            #expect(facts.header?.width == record.width, "\(record.file)")
            #expect(facts.header?.height == record.height, "\(record.file)")
            #expect(facts.header?.displayWidth == record.displayWidth, "\(record.file)")
            #expect(facts.header?.displayHeight == record.displayHeight, "\(record.file)")
            if expected == .jpeg || expected == .png || record.orientation != nil {
                #expect(facts.orientation == record.orientation, "\(record.file)")
            }
            if let progressive = record.progressive, expected == .jpeg || expected == .png || expected == .gif {
                #expect(facts.header?.isProgressive == progressive, "\(record.file)")
            }
            if let depth = record.bitDepth, let found = facts.header?.bitDepth, expected != .gif {
                #expect(found == depth, "\(record.file)")
            }
        }
    }

    @Test func goodFilesAreWholeAndBadOnesAreFound() throws {
        for record in Corpus.records {
            let facts = ImageInspector.inspect(path: Corpus.path(record.file), deep: true)
            switch record.expect {
            case "ok": #expect(facts.isValid, "\(record.file): \(facts.error?.details.detail ?? "")")
            case "error":
                #expect(!facts.isValid, "\(record.file)")
                #expect(facts.error.map { Self.codes.contains($0.code) } ?? false, "\(record.file)")
            default: break
            }
        }
    }

    private static let codes = ["not_an_image", "truncated", "corrupt", "too_large"]

    /// What the structure tells is found without decoding.
    @Test func badFilesAreFoundWithoutDecoding() throws {
        for record in Corpus.records(in: "bad") where record.expect == "error" {
            let facts = ImageInspector.inspect(path: Corpus.path(record.file))
            #expect(!facts.isValid, "\(record.file)")
        }
    }
}
