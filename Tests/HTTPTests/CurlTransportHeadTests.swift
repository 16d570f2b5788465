#if Curl
    import Testing

    @testable import Larder

    @Suite struct CurlTransportHeadTests {
        private func head(_ lines: String..., maxBytes: Int = 1 << 16, maxFields: Int = 10) throws(ImageError)
            -> CurlResponseHead
        {
            var head = CurlResponseHead(maxBytes: maxBytes, maxFields: maxFields)
            for line in lines {
                let bytes = Array(line.utf8)
                let result = bytes.withUnsafeBytes { buffer -> Result<Bool, ImageError> in
                    do throws(ImageError) { return .success(try head.feed(buffer)) } catch { return .failure(error) }
                }
                _ = try result.get()
            }
            return head
        }

        @Test func readsAHead() throws {
            let head = try head("HTTP/1.1 404 Not Found\r\n", "A: 1 \r\n", "a:\t2\r\n", "B:\r\n", "\r\n")
            #expect(head.isComplete)
            #expect(head.status == 404)
            #expect(head.version == "1.1")
            #expect(head.fields.values("a") == ["1", "2"])
            #expect(head.fields["b"] == "")
            #expect(try self.head("HTTP/2 200 \r\n", "\r\n").version == "2")
        }

        @Test func interimResponsesAndTrailersAreNotPartOfIt() throws {
            let head = try head(
                "HTTP/1.1 103 Early\r\n", "Link: x\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "A: 1\r\n", "\r\n", "T: 2\r\n")
            #expect(head.status == 200)
            #expect(head.fields == ["A": "1"])
        }

        @Test func foldedLinesAreJoined() throws {
            #expect(try head("HTTP/1.1 200 OK\r\n", "A: 1\r\n", " \t2\r\n", "\r\n").fields["a"] == "1 2")
        }

        @Test func fieldsThatLibcurlDoesNotHeedAreNotHeededHere() throws {
            let head = try head("HTTP/1.1 200 OK\r\n", "Content-Length : 5\r\n", ": x\r\n", "nonsense\r\n", "\r\n")
            #expect(head.fields.fields.isEmpty)
            #expect(head.contentLength == nil)
        }

        @Test(arguments: [
            ["HTTP/1.1 20 OK\r\n"], ["HTTP/1.1 099 x\r\n"], ["HTTP/1.1 2000 OK\r\n"], ["ICY 200 OK\r\n"],
            ["HTTP/1.1 200 OK\r\n", "A: x\0y\r\n"], ["HTTP/1.1 200 OK\r\n", "A: x\ry\r\n"],
            ["HTTP/1.1 200 OK\r\n", "Content-Length: 5\r\n", "Content-Length: 6\r\n", "\r\n"],
            ["HTTP/1.1 200 OK\r\n", "Content-Length: 5, 6\r\n", "\r\n"],
            ["HTTP/1.1 200 OK\r\n", "Content-Length: -5\r\n", "\r\n"],
            ["HTTP/1.1 200 OK\r\n", "Content-Length: 1,\t,1\r\n", "\r\n"], ["HTTP/1.1 101 Switch\r\n"],
        ])
        func malformed(_ lines: [String]) {
            var head = CurlResponseHead(maxBytes: 1000, maxFields: 10)
            var error: ImageError?
            for line in lines where error == nil {
                Array(line.utf8).withUnsafeBytes { buffer in
                    do throws(ImageError) { _ = try head.feed(buffer) } catch let thrown { error = thrown }
                }
            }
            #expect(error?.code == "unreachable")
        }

        @Test func sameLengthTwiceIsOneLength() throws {
            let head = try head("HTTP/1.1 200 OK\r\n", "Content-Length: 5\r\n", "Content-Length: 5\r\n", "\r\n")
            #expect(head.contentLength == 5)
        }

        @Test func transferEncodingOverridesTheLength() throws {
            let head = try head(
                "HTTP/1.1 200 OK\r\n", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "\r\n")
            #expect(head.contentLength == nil)
            #expect(head.fields["content-length"] == nil)
        }

        @Test func sizeAndCountAreLimited() throws {
            let long = "A: " + String(repeating: "x", count: 100) + "\r\n"
            #expect(throws: ImageError.self) { try self.head("HTTP/1.1 200 OK\r\n", long, maxBytes: 100) }
            #expect(throws: ImageError.self) {
                try self.head("HTTP/1.1 200 OK\r\n", "A: 1\r\n", "A: 1\r\n", "A: 1\r\n", "A: 1\r\n", maxFields: 2)
            }
            // Endless interim responses count too.
            #expect(throws: ImageError.self) {
                try self.head(
                    "HTTP/1.1 100 C\r\n", "\r\n", "HTTP/1.1 100 C\r\n", "\r\n", "HTTP/1.1 100 C\r\n", "\r\n",
                    maxFields: 2)
            }
        }

        @Test func bytesThatAreNotUTF8AreLatin1() throws {
            var head = CurlResponseHead(maxBytes: 1000, maxFields: 10)
            for line in [Array("HTTP/1.1 200 OK\r\n".utf8), [0x41, 0x3A, 0xE9, 13, 10], [13, 10]] {
                _ = try line.withUnsafeBytes { buffer in
                    Result { () throws(ImageError) in try head.feed(buffer) }
                }.get()
            }
            #expect(head.fields["a"] == "é")
        }
    }
#endif
