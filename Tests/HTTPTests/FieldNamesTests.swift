import Testing

@testable import Larder

@Suite struct FieldNamesTests {
    private let names: FieldNames = ["etag", "content-type", "x-robots-tag"]

    @Test(arguments: ["etag", "ETag", "Content-Type", "X-ROBOTS-TAG"])
    func namesCompareWithoutCase(name: String) { #expect(names.contains(name)) }

    @Test(arguments: ["", "date", "content-typo", "etag ", "content-type-options", "\u{212A}tag"])
    func otherNamesAreNotThere(name: String) { #expect(!names.contains(name)) }

    @Test func aNameTooLongForAnySetIsNotThere() {
        #expect(!names.contains(String(repeating: "x", count: 64)))
        #expect(!names.contains(String(repeating: "x", count: 68)))
    }
}
