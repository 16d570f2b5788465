import Testing

@testable import Larder

@Suite struct ResponseValidatorTests {
    /// Refuses a 9 anywhere and a body that does not end in a 1.
    private struct Inspector: BodyInspector {
        var last: UInt8?

        mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
            if bytes.contains(9) { throw .corrupt(.init("a 9")) }
            last = bytes.last ?? last
        }

        mutating func finish() throws(ImageError) {
            if last != 1 { throw .truncated(.init("no 1 at the end")) }
        }
    }

    private func judge(
        status: Int = 200, _ fields: HTTPFields = [:], chunks: [[UInt8]] = [[1]], limit: Int = 100
    ) -> String {
        do throws(ImageError) {
            var validator = try ResponseValidator(
                status: status, fields: fields, maxBytes: limit, inspector: Inspector())
            for chunk in chunks { try validator.receive(chunk) }
            try validator.finish()
            return "image of \(validator.bytes)"
        } catch {
            return error.code
        }
    }

    @Test(arguments: [200, 201, 203, 299]) func acceptsSuccess(status: Int) {
        #expect(judge(status: status) == "image of 1")
    }

    @Test(arguments: [0, 199, 204, 205, 206, 300, 302, 304, 400, 404, 500, 999])
    func refusesOtherStatuses(status: Int) { #expect(judge(status: status) == "http_status") }

    @Test func judgesTheAnnouncedLength() {
        #expect(judge(["Content-Length": "1"]) == "image of 1")
        #expect(judge(["Content-Length": "100"], chunks: [[UInt8](repeating: 1, count: 100)]) == "image of 100")
        #expect(judge(["Content-Length": "101"]) == "too_large")
        #expect(judge(["Content-Length": "99999999999999999999999"]) == "too_large")
        #expect(judge(["Content-Length": "0"], chunks: []) == "not_an_image")
        #expect(judge(["Content-Length": "2"]) == "truncated")
        #expect(judge(["Content-Length": "none"]) == "image of 1")
        #expect(judge(["Content-Length": ""]) == "image of 1")
    }

    @Test func judgesTheLengthAsReceived() {
        let chunk = [UInt8](repeating: 1, count: 50)
        #expect(judge(chunks: [chunk, chunk]) == "image of 100")
        #expect(judge(chunks: [chunk, chunk, [1]]) == "too_large")
        #expect(judge(chunks: []) == "not_an_image")
    }

    @Test(arguments: ["gzip", "X-GZIP", "deflate", "br", "zstd", "identity, gzip"])
    func refusesACodingNobodyAskedFor(coding: String) {
        #expect(judge(["Content-Encoding": coding]) == "unsupported_format")
    }

    @Test(arguments: ["identity", "", "none", "binary", "utf-8"])
    func ignoresWhatIsNoCoding(coding: String) {
        #expect(judge(["Content-Encoding": coding]) == "image of 1")
    }

    @Test func asksTheInspector() {
        #expect(judge(chunks: [[2], [9], [1]]) == "corrupt")
        #expect(judge(chunks: [[1], [2]]) == "truncated")
    }
}
