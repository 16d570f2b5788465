#if Curl
    import Foundation
    import TestSupport
    import Testing

    @testable import Larder

    /// What is CurlTransport's own; what every transport must do stands in the suites over all of them.
    @Suite struct CurlTransportTests {
        private let transport = CurlTransport(configuration: .init(proxy: .none))

        @Test func tellsWhatAnswered() async throws {
            let origin = try Origin()
            origin.on("/a", .ok([1, 2, 3], [("ETag", "\"x\""), ("X-Latin", "a")]))
            let response = try await transport.open(.init(url: origin.url("/a")))
            #expect(response.status == 200)
            #expect(response.fields["etag"] == "\"x\"")
            #expect(response.remoteAddress == "127.0.0.1")
            #expect(response.httpVersion == "1.1")
            #expect(try await response.body.all() == [1, 2, 3])
            let request = origin.requests[0]
            #expect(request["accept-encoding"] == "identity")
            #expect(request["host"] == "127.0.0.1:\(origin.port)")
            #expect(request["user-agent"] == nil)
        }

        @Test func keepsTheConnection() async throws {
            let origin = try Origin()
            origin.otherwise { _ in .ok([7]) }
            for index in 0..<20 {
                let response = try await transport.open(.init(url: origin.url("/\(index)")))
                _ = try await response.body.all()
            }
            #expect(origin.connections == 1)
        }

        /// A handle that is used again remembers nothing of the request before.
        @Test func methodsDoNotLeakIntoEachOther() async throws {
            let origin = try Origin()
            origin.otherwise { request in
                request.method == "HEAD"
                    ? OriginReply([.send(OriginReply.head(200, [("Content-Length", "9")]))]) : .ok([7])
            }
            var methods: [String] = []
            for method in ["GET", "HEAD", "GET", "POST", "GET", "PUT", "DELETE", "POST", "HEAD", "GET"] {
                let body: [UInt8] = ["POST", "PUT"].contains(method) ? [1, 2] : []
                methods.append(method)
                let response = try await transport.open(
                    .init(url: origin.url("/"), method: method, fields: ["X-M": method], body: body))
                #expect(try await response.body.all() == (method == "HEAD" ? [] : [7]))
                let seen = try #require(origin.requests.last)
                #expect(seen.method == method)
                #expect(seen.body == body)
                #expect(seen["x-m"] == method)
                #expect(seen["content-type"] == nil)
                #expect(seen["expect"] == nil)
            }
            #expect(origin.requests.map(\.method) == methods)
        }

        @Test func refusesFieldsThatBreakTheFraming() async throws {
            let origin = try Origin()
            for fields: HTTPFields in [["X": "a\r\nY: b"], ["X\r\nY": "a"], ["": "a"], ["X y": "a"], ["X": "a\0"]] {
                await #expect(throws: ImageError.self) {
                    _ = try await transport.open(.init(url: origin.url("/"), fields: fields))
                }
            }
            #expect(origin.requests.isEmpty)
        }

        /// Foundation and libcurl must not read two hosts out of one URL.
        @Test(arguments: [
            "http://a@127.0.0.1/", "http://127.0.0.1:80:90/", "http:///x", "http:x", "http://[::1%25lo]/",
            "http://[::1/",
        ])
        func refusesDoubtfulAuthorities(_ text: String) {
            guard let url = URL(string: text) else { return }
            #expect(throws: ImageError.self) { try CurlHandle.checkedURL(url) }
        }

        @Test(arguments: ["ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/", "data:,x"])
        func refusesOtherSchemes(_ text: String) async throws {
            let url = try #require(URL(string: text))
            let error = await #expect(throws: ImageError.self) { _ = try await transport.open(.init(url: url)) }
            guard case .refused(.scheme, _) = error else { return #expect(Bool(false), "\(error!)") }
        }

        /// Checked where the socket is made, so whatever the name server says; and again on a connection that stands.
        @Test(arguments: ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
        func publicOnlyHoldsForNewAndForReusedConnections(_ host: String) async throws {
            let origin = try Origin()
            origin.otherwise { _ in .ok([1]) }
            let url = try #require(URL(string: "http://\(host):\(origin.port)/"))
            for connections in [0, 1] {
                let error = await #expect(throws: ImageError.self) {
                    _ = try await transport.open(.init(url: url, addresses: .publicOnly))
                }
                guard case .refused(.address, _) = error else { return #expect(Bool(false), "\(error!)") }
                #expect(origin.connections == connections)
                _ = try await transport.open(.init(url: url)).body.all()
            }
            // The connection that was refused is closed.
            #expect(origin.connections == 2)
            #expect(origin.requests.count == 2)
        }

        @Test func proxyComesFromTheEnvironmentAsCurlReadsIt() async throws {
            await #expect(processExitsWith: .success) {
                let (proxy, direct) = (try Origin(), try Origin())
                proxy.otherwise { _ in .ok([1]) }
                direct.otherwise { _ in .ok([2]) }
                setenv("http_proxy", "http://127.0.0.1:\(proxy.port)", 1)
                setenv("no_proxy", "127.0.0.1", 1)
                let transport = CurlTransport()
                let url = try #require(URL(string: "http://images.example/a"))
                guard try await transport.open(.init(url: url)).body.all() == [1],
                    proxy.requests.map(\.target) == ["http://images.example/a"],
                    try await transport.open(.init(url: direct.url("/b"))).body.all() == [2]
                else { exit(1) }
            }
        }

        /// A proxy would look the name up where nobody can check the address.
        @Test func publicOnlyPassesProxiesBy() async throws {
            let proxy = try Origin()
            proxy.otherwise { _ in .ok([1]) }
            let transport = CurlTransport(configuration: .init(proxy: .url("http://127.0.0.1:\(proxy.port)")))
            let url = try #require(URL(string: "http://localhost:1/a"))
            #expect(try await transport.open(.init(url: url)).body.all() == [1])
            #expect(proxy.requests[0].target == "http://localhost:1/a")
            await #expect(throws: ImageError.self) {
                _ = try await transport.open(.init(url: url, addresses: .publicOnly))
            }
            #expect(proxy.requests.count == 1)
        }

        /// The body that nobody reads stops its own transfer, not the others.
        @Test func slowConsumerPausesItsTransferOnly() async throws {
            let origin = try Origin()
            // 16 MiB in which no block is like its neighbours.
            var large: [UInt8] = (0..<251).map { UInt8($0) }
            while large.count < 16 << 20 { large += large + [UInt8(large.count % 251)] }
            origin.on("/large", .ok(large))
            origin.otherwise { _ in .ok([UInt8](repeating: 1, count: 100_000)) }
            let slow = try await transport.open(.init(url: origin.url("/large")))
            for index in 0..<100 {
                let response = try await transport.open(.init(url: origin.url("/\(index)")))
                #expect(try await response.body.all().count == 100_000)
            }
            var received: [UInt8] = []
            while let chunk = try await slow.body.next() {
                #expect(chunk.count <= 1 << 20)
                received += chunk
            }
            #expect(received == large)
        }

        @Test func cancellationEndsTheConnection() async throws {
            let origin = try Origin()
            origin.on("/hold", OriginReply([.hold]))
            let task = Task { [transport] in
                await #expect(throws: ImageError.self) { _ = try await transport.open(.init(url: origin.url("/hold"))) }
            }
            await origin.requests(atLeast: 1)
            task.cancel()
            let error = await task.value
            #expect(error?.code == "cancelled")
            await origin.allConnectionsClosed()
        }

        @Test func releasedBodyEndsTheConnection() async throws {
            let origin = try Origin()
            origin.on("/a", OriginReply([.send(OriginReply.head(200, [("Content-Length", "9")]) + [1]), .hold]))
            _ = try await transport.open(.init(url: origin.url("/a")))
            await origin.allConnectionsClosed()
        }

        @Test func idleDeadlineIsFinerThanASecond() async throws {
            let origin = try Origin()
            origin.on("/a", OriginReply([.send(OriginReply.head(200, [("Content-Length", "9")]) + [1]), .hold]))
            let response = try await transport.open(.init(url: origin.url("/a"), deadlines: .init(idle: 0.05)))
            let error = await #expect(throws: ImageError.self) { try await response.body.all() }
            guard case .timedOut(.idle, _) = error else { return #expect(Bool(false), "\(error!)") }
            await origin.allConnectionsClosed()
        }

        /// A server that accepts and never speaks TLS.
        @Test func connectDeadlineIncludesTLS() async throws {
            let origin = try Origin()
            let url = try #require(URL(string: "https://127.0.0.1:\(origin.port)/"))
            let error = await #expect(throws: ImageError.self) {
                _ = try await transport.open(.init(url: url, deadlines: .init(connect: 0.05)))
            }
            guard case .timedOut(.connect, _) = error else { return #expect(Bool(false), "\(error!)") }
            await origin.allConnectionsClosed()
        }

        @Test func connectionsPerHostAreLimited() async throws {
            let limited = CurlTransport(configuration: .init(maxConnectionsPerHost: 2, proxy: .none))
            let origin = try Origin()
            origin.otherwise { _ in .ok([1]) }
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<50 {
                    group.addTask {
                        await #expect(throws: Never.self) {
                            // A deadline that the first in line would not pass, were waiting counted.
                            let response = try await limited.open(.init(url: origin.url("/\(index)")))
                            #expect(try await response.body.all() == [1])
                        }
                    }
                }
            }
            #expect(origin.connections <= 2)
        }

        /// Thousands of transfers, half of them cancelled at some point, leave no connection and no thread.
        @Test func randomCancelsLeaveNothing() async throws {
            let transport = CurlTransport(configuration: .init(idleLifetime: 0.01, proxy: .none))
            let origin = try Origin()
            origin.otherwise { _ in .ok([UInt8](repeating: 5, count: 50_000)) }
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<3000 {
                    if index >= 32 { await group.next() }
                    group.addTask {
                        let task = Task {
                            let response = try await transport.open(.init(url: origin.url("/\(index)")))
                            if index % 5 == 1 { return 50_000 }
                            return try await response.body.all().count
                        }
                        if index % 2 == 0 {
                            for _ in 0..<(index % 17) { await Task.yield() }
                            task.cancel()
                        }
                        switch await task.result {
                        case .success(let count): #expect(count == 50_000)
                        case .failure(let error): #expect((error as? ImageError)?.code == "cancelled")
                        }
                    }
                }
            }
            await origin.allConnectionsClosed()
        }

        @Test func transfersOutliveTheTransport() async throws {
            let origin = try Origin()
            let gate = Gate()
            origin.on("/a", .gated([1, 2, 3], after: 1, at: gate))
            let response = try await CurlTransport(configuration: .init(proxy: .none)).open(
                .init(url: origin.url("/a")))
            gate.open()
            #expect(try await response.body.all() == [1, 2, 3])
            await origin.allConnectionsClosed()
        }

        @Test func saysWithWhichLibraryItWorks() {
            #expect(CurlTransport.version.hasPrefix("libcurl "))
            #expect(CurlTransport.version.contains("HTTP/1.1"))
        }
    }
#endif
