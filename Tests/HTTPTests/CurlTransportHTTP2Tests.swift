#if Curl
    import Foundation
    import TestSupport
    import Testing

    @testable import Larder

    /// HTTP/2 over TLS, with nginx on loopback and a certificate of the test's own.
    @Suite(.enabled("nginx and openssl are installed") { SecureServer.isAvailable })
    struct CurlTransportHTTP2Tests {
        /// Held back until all of the first 64 have reached the origin, over one connection: they were multiplexed.
        @Test func twoHundredImagesShareOneConnection() async throws {
            let origin = try Origin()
            let gate = Gate()
            let image = [UInt8](repeating: 9, count: 30_000)
            origin.otherwise { _ in .gated(image, after: 100, at: gate) }
            let server = try SecureServer(behind: origin)
            let transport = server.transport()
            // Nothing comes before 64 are asked for, which may take its time on a busy machine.
            let patient = Deadlines(connect: 100, idle: 100, total: 100)
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await origin.requests(atLeast: 64)
                    gate.open()
                }
                for index in 0..<200 {
                    if index >= 64 { await group.next() }
                    group.addTask {
                        await #expect(throws: Never.self) {
                            let url = server.url("/image/\(index)")
                            let response = try await transport.open(.init(url: url, deadlines: patient))
                            #expect(response.httpVersion == "2")
                            #expect(try await response.body.count() == image.count)
                        }
                    }
                }
            }
            let connections = try server.stop().map { $0.split(separator: " ") }
            #expect(connections.count == 200)
            #expect(Set(connections.map { $0[0] }).count == 1)
            #expect(connections.allSatisfy { $0[1] == "h2" })
        }

        /// On one connection, too, a body that nobody reads stops no other.
        @Test func slowConsumerStopsNoOther() async throws {
            let origin = try Origin()
            origin.otherwise { _ in .ok([UInt8](repeating: 1, count: 100_000)) }
            let large = 24 << 20
            origin.on("/large", .ok([UInt8](repeating: 2, count: large)))
            let server = try SecureServer(behind: origin)
            let transport = server.transport()
            let slow = try await transport.open(.init(url: server.url("/large")))
            for index in 0..<50 {
                let response = try await transport.open(.init(url: server.url("/\(index)")))
                #expect(try await response.body.count() == 100_000)
            }
            #expect(try await slow.body.count() == large)
            #expect(try Set(server.stop().map { $0.split(separator: " ")[0] }).count == 1)
        }

        @Test func cancelledStreamsLeaveTheOthers() async throws {
            let origin = try Origin()
            origin.otherwise { _ in .ok([UInt8](repeating: 1, count: 200_000)) }
            let server = try SecureServer(behind: origin)
            let transport = server.transport()
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<300 {
                    if index >= 32 { await group.next() }
                    group.addTask {
                        let task = Task {
                            let response = try await transport.open(.init(url: server.url("/\(index)")))
                            return index % 3 == 0 ? 200_000 : try await response.body.count()
                        }
                        if index % 2 == 0 {
                            for _ in 0..<(index % 23) { await Task.yield() }
                            task.cancel()
                        }
                        switch await task.result {
                        case .success(let count): #expect(count == 200_000)
                        case .failure(let error):
                            #expect((error as? ImageError)?.code == "cancelled", "\(error)")
                            #expect(index % 2 == 0)
                        }
                    }
                }
            }
        }

        /// Those that waited for a connection to share go on at once where it turns out that none can be shared.
        @Test(.timeLimit(.minutes(1))) func withoutHTTP2RequestsDoNotWaitForEachOther() async throws {
            let origin = try Origin()
            let gate = Gate()
            origin.otherwise { _ in .gated([1, 2, 3], after: 1, at: gate) }
            let server = try SecureServer(behind: origin, speaks: "ssl")
            let transport = server.transport()
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await origin.requests(atLeast: 12)
                    gate.open()
                }
                for index in 0..<12 {
                    group.addTask {
                        await #expect(throws: Never.self) {
                            let response = try await transport.open(.init(url: server.url("/\(index)")))
                            #expect(response.httpVersion == "1.1")
                            #expect(try await response.body.count() == 3)
                        }
                    }
                }
            }
        }

        @Test func unknownAuthorityIsRefused() async throws {
            let server = try SecureServer(behind: try Origin())
            let transport = CurlTransport(configuration: .init(proxy: .none))
            let error = await #expect(throws: ImageError.self) {
                _ = try await transport.open(.init(url: server.url("/")))
            }
            #expect(error?.code == "unreachable")
            #expect(error?.isRetryable == false)
            #expect(error?.details.detail.contains("certificate") == true)
        }
    }

    /// nginx with TLS and HTTP/2 in front of an origin.
    private final class SecureServer: Sendable {
        static let programs = ["/usr/sbin/nginx", "/usr/bin/openssl"]
        static var isAvailable: Bool { programs.allSatisfy(FileManager.default.isExecutableFile) }

        struct Failure: Error { var message: String }

        private let directory: String
        private let port: UInt16
        private let process: Lock<Process?>

        init(behind origin: Origin, speaks protocols: String = "ssl http2") throws {
            directory = NSTemporaryDirectory() + "larder-nginx-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            let certificate = Process()
            certificate.executableURL = URL(fileURLWithPath: Self.programs[1])
            certificate.arguments = [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                "-keyout", "\(directory)/key.pem", "-out", "\(directory)/certificate.pem",
            ]
            certificate.standardError = FileHandle.nullDevice
            try certificate.run()
            certificate.waitUntilExit()

            // nginx takes over a socket that listens already, as in its own upgrade: no port to guess, nothing to
            // wait for.
            let (socket, port) = try Self.listener()
            defer { close(socket) }
            self.port = port
            let configuration = """
                daemon off; worker_processes 1; pid \(directory)/pid; error_log \(directory)/error.log;
                events { worker_connections 1024; }
                http {
                  log_format one '$connection $http2';
                  access_log \(directory)/access.log one;
                  proxy_buffering off;
                  client_body_temp_path \(directory)/1; proxy_temp_path \(directory)/2;
                  fastcgi_temp_path \(directory)/3; uwsgi_temp_path \(directory)/4; scgi_temp_path \(directory)/5;
                  server {
                    listen 127.0.0.1:\(port) \(protocols);
                    ssl_certificate \(directory)/certificate.pem; ssl_certificate_key \(directory)/key.pem;
                    location / { proxy_pass http://127.0.0.1:\(origin.port); proxy_read_timeout 300s; }
                  }
                }
                """
            try Data(configuration.utf8).write(to: URL(fileURLWithPath: "\(directory)/nginx.conf"))
            let nginx = Process()
            nginx.executableURL = URL(fileURLWithPath: Self.programs[0])
            nginx.arguments = ["-p", directory, "-c", "\(directory)/nginx.conf"]
            nginx.environment = ["NGINX": "0;"]
            nginx.standardInput = FileHandle(fileDescriptor: socket)
            nginx.standardError = FileHandle.nullDevice
            try nginx.run()
            process = Lock(nginx)
        }

        deinit {
            end()
            try? FileManager.default.removeItem(atPath: directory)
        }

        func url(_ path: String) -> URL { URL(string: "https://127.0.0.1:\(port)\(path)")! }

        func transport() -> CurlTransport {
            CurlTransport(configuration: .init(proxy: .none, authorities: "\(directory)/certificate.pem"))
        }

        /// Ends the server and gives the lines of its log: a connection's number and protocol for each request.
        @discardableResult
        func stop() throws -> [String] {
            end()
            let log = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/access.log"))
            return String(decoding: log, as: UTF8.self).split(separator: "\n").map(String.init)
        }

        private func end() {
            let running = process.withLock { process in
                defer { process = nil }
                return process
            }
            running?.terminate()
            running?.waitUntilExit()
        }

        private static func listener() throws -> (Int32, UInt16) {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let done = withUnsafeMutablePointer(to: &name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, length) == 0 && listen(descriptor, 512) == 0
                        && getsockname(descriptor, $0, &length) == 0
                }
            }
            guard done else { throw Failure(message: "no port: errno \(errno)") }
            return (descriptor, UInt16(bigEndian: name.sin_port))
        }
    }

    extension ResponseBody {
        fileprivate func count() async throws(ImageError) -> Int {
            var count = 0
            while let chunk = try await next() { count += chunk.count }
            return count
        }
    }
#endif
