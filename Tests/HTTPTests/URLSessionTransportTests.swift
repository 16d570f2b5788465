import Foundation
import FoundationNetworking
import TestSupport
import Testing

@testable import Larder

@Suite(.timeLimit(.minutes(1))) struct URLSessionTransportTests {
    let transport = URLSessionTransport(configuration: .init(transfersAtOnce: 4, stallTimeout: 4))

    @Test func bringsHeadAndBody() async throws {
        let origin = try Origin()
        let image = [UInt8]((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        origin.on("/a.png", .ok(image, [("ETag", "\"v1\"")]))
        let response = try await transport.open(.init(url: origin.url("/a.png")))
        #expect(response.status == 200)
        #expect(response.fields["etag"] == "\"v1\"")
        #expect(try await response.body.all() == image)
    }

    @Test func asksForNoCodingAndSendsNoCookie() async throws {
        let origin = try Origin()
        origin.on("/a", .ok([1], [("Set-Cookie", "a=b")]))
        for _ in 0..<2 {
            _ = try await transport.open(.init(url: origin.url("/a"), fields: ["X-Own": "1"])).body.all()
        }
        let requests = await origin.requests(atLeast: 2)
        #expect(requests.allSatisfy { $0["accept-encoding"] == "identity" && $0["x-own"] == "1" })
        #expect(requests[1]["cookie"] == nil)
    }

    /// URLSession would follow it, with `Authorization`, wherever it leads.
    @Test func followsNoRedirect() async throws {
        let origin = try Origin()
        origin.on("/a", .status(302, [("Location", "/b")], body: [1, 2]))
        let response = try await transport.open(.init(url: origin.url("/a")))
        #expect(response.status == 302)
        #expect(response.fields["Location"] == "/b")
        #expect(try await response.body.all() == [1, 2])
        #expect(origin.requests.count == 1)
    }

    /// URLSession builds a request from each of these before it asks whether to follow. (`//[::1]/` ends the process:
    /// see the cases of the hostile web.)
    @Test(arguments: [
        "//[::1", "http:/x", "?%", "/%zz?%zz#%zz", "//127.0.0.1:99999/x", "//ho st/", "x:", ":80", "http:", "///",
        "\\\\x",
        "//user@:80", "a:b@c", "//", "#", "?", ";", "http://", "http:///x", "//:80", "//[", "//a]b", "/a\tb", "%",

        "//\u{FFFD}/", "mailto:a@b", "//a:-1/", "//a:b/", "/\u{1F600}?\u{1F600}#\u{1F600}", "?a b#c d", "//xn--/",
        "/..//../..",
    ])
    func survivesOddLocations(location: String) async throws {
        let origin = try Origin()
        origin.on("/a", .redirect(location))
        #expect(try await transport.open(.init(url: origin.url("/a"))).status == 302)
        #expect(origin.requests.count == 1)
    }

    /// A socket whose answer nobody reads, as a stall of URLSession leaves it: here it is one of the test's own.
    @Test func beginsAnewWhatHasStalled() async throws {
        let origin = try Origin()
        let gate = Gate()
        origin.on("/stuck", .ok([1]))
        origin.on("/a", OriginReply([.wait(gate), .hold]), .ok([1, 2, 3]))
        let fd = try connected(to: origin.port)
        defer { close(fd) }
        _ = Array("GET /stuck HTTP/1.1\r\n\r\n".utf8).withUnsafeBytes { send(fd, $0.baseAddress, $0.count, 0) }
        await origin.requests(atLeast: 1)
        var ready = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
        #expect(poll(&ready, 1, -1) == 1)

        let time = ManualTime()
        let transport = URLSessionTransport(configuration: .init(transfersAtOnce: 4, stallTimeout: 1), time: time)
        let task = Task { try await transport.open(.init(url: origin.url("/a"))).body.all() }
        await gate.reached()
        // Seen unread, seen unread for half the time, begun anew.
        while transport.stallRetries == 0 {
            await time.sleepers(1)
            time.advance(seconds: 0.6)
        }
        #expect(try await task.value == [1, 2, 3])
        #expect(transport.stallRetries == 1)
        gate.open()
        await origin.connectionsClosed(atLeast: 1)
    }

    @Test func leavesASlowServerAlone() async throws {
        let origin = try Origin()
        let gate = Gate()
        origin.on("/a", OriginReply([.wait(gate), .send(OriginReply.head(200, [("Content-Length", "0")]))]))
        let time = ManualTime()
        let transport = URLSessionTransport(configuration: .init(transfersAtOnce: 4), time: time)
        let task = Task { try await transport.open(.init(url: origin.url("/a"))).status }
        await gate.reached()
        for _ in 0..<12 {
            await time.sleepers(1)
            time.advance(seconds: 1)
        }
        await time.sleepers(1)
        gate.open()
        #expect(try await task.value == 200)
        #expect(transport.stallRetries == 0)
        #expect(origin.requests.count == 1)
    }

    /// URLSession cannot be paused: what its consumer does not take is bounded all the same.
    @Test func endsATransferWhoseConsumerDoesNotKeepUp() async throws {
        let origin = try Origin()
        origin.on(
            "/a", OriginReply([.send(OriginReply.head(200)), .forever([UInt8](repeating: 7, count: 65536), pause: 0)]))
        let transport = URLSessionTransport(configuration: .init(transfersAtOnce: 4, maxWaitingBytes: 1 << 20))
        let response = try await transport.open(.init(url: origin.url("/a")))
        await origin.allConnectionsClosed()
        await #expect { try await response.body.all() } throws: { ($0 as? ImageError)?.code == "too_large" }
    }

    @Test func refusesFieldsThatBreakTheFraming() async throws {
        let origin = try Origin()
        for fields: HTTPFields in [["X": "a\r\nY: b"], ["X\r\nY": "a"], ["": "a"], ["X y": "a"], ["X": "a\0"]] {
            await #expect(throws: ImageError.self) {
                try await transport.open(.init(url: origin.url("/"), fields: fields))
            }
        }
        #expect(origin.connections == 0)
    }

    /// With a URLCache the process would end, and with the async methods it would hang.
    @Test func survivesCancellationAtAnyMoment() async throws {
        let origin = try Origin()
        let body = [UInt8](repeating: 1, count: 50_000)
        origin.otherwise { _ in .ok(body) }
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<300 {
                group.addTask { [transport] in
                    let task = Task { try await transport.open(.init(url: origin.url("/\(index)"))).body.all() }
                    for _ in 0..<(index % 40) { await Task.yield() }
                    if index % 3 != 0 { task.cancel() }
                    _ = try? await task.value
                }
            }
        }
        #expect(try await transport.open(.init(url: origin.url("/last"))).body.all() == body)
    }

    /// URLSession completes such a response without the callback for it.
    @Test func handsOnARedirectThatLeadsNowhere() async throws {
        let origin = try Origin()
        origin.on("/a", .status(302))
        #expect(try await transport.open(.init(url: origin.url("/a"))).status == 302)
    }

    /// URLSession's default handling hangs on Basic and ends the process on Digest.
    @Test(arguments: ["Basic realm=\"x\"", "Digest realm=\"x\", nonce=\"y\"", "Bearer"])
    func handsOnA401(challenge: String) async throws {
        let origin = try Origin()
        origin.on("/a", .status(401, [("WWW-Authenticate", challenge)], body: [7]))
        let response = try await transport.open(.init(url: origin.url("/a")))
        #expect(response.status == 401)
        #expect(try await response.body.all() == [7])
    }

    @Test func handsOnABare304() async throws {
        let origin = try Origin()
        origin.on("/a", .status(304, [("ETag", "\"v1\"")]))
        let response = try await transport.open(.init(url: origin.url("/a")))
        #expect(response.status == 304)
        #expect(try await response.body.all() == [])
    }

    @Test func stopsTheTransferWhenTheWaitingTaskIsCancelled() async throws {
        let origin = try Origin()
        let gate = Gate()
        origin.on("/a", OriginReply([.wait(gate), .hold]))
        let task = Task { [transport] in try await transport.open(.init(url: origin.url("/a"))) }
        await gate.reached()
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? ImageError)?.code == "cancelled" }
        gate.open()
        await origin.allConnectionsClosed()
    }

    /// The head of a small image waits for its body, but not for long.
    @Test func handsOnAHeadWhoseBodyDoesNotCome() async throws {
        // URLSession stalls in the midst of a body now and then: once more, where that is what has happened.
        for attempt in 1...3 {
            let origin = try Origin()
            let gate = Gate()
            let beginning = OriginReply.head(200, [("Content-Length", "3")]) + [1]
            origin.on("/a", OriginReply([.send(beginning), .wait(gate), .send([2, 3])]))
            let deadlines = Deadlines(connect: 15, idle: 15)
            let response = try await transport.open(.init(url: origin.url("/a"), deadlines: deadlines))
            #expect(response.status == 200)
            #expect(try await response.body.next() == [1])
            gate.open()
            do throws(ImageError) {
                let rest = try await response.body.all()
                return #expect(rest == [2, 3])
            } catch {
                guard attempt < 3, error.details.detail.contains("a stall") else { throw error }
            }
        }
    }

    /// A server that is slow and an answer that nobody reads end alike, but are told apart.
    @Test(arguments: [false, true]) func saysWhereAStallEndedABody(isStall: Bool) async throws {
        let origin = try Origin()
        origin.on("/stuck", .ok([1]))
        origin.on("/a", OriginReply([.send(OriginReply.head(200) + [1]), .hold]))
        let fd = try connected(to: origin.port)
        defer { close(fd) }
        if isStall {
            _ = Array("GET /stuck HTTP/1.1\r\n\r\n".utf8).withUnsafeBytes { send(fd, $0.baseAddress, $0.count, 0) }
            var ready = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
            #expect(poll(&ready, 1, -1) == 1)
        }
        let time = ManualTime()
        let transport = URLSessionTransport(configuration: .init(transfersAtOnce: 4), time: time)
        let deadlines = Deadlines(connect: 5, idle: 0.5)
        let response = try await transport.open(.init(url: origin.url("/a"), deadlines: deadlines))
        #expect(try await response.body.next() == [1])
        await time.sleepers(1)
        time.advance(seconds: 0.6)
        await #expect { try await response.body.all() } throws: {
            guard case .timedOut(.idle, let details) = $0 as? ImageError else { return false }
            return details.detail.contains("a stall") == isStall
        }
    }

    /// Time stands still, so that the head is held back when the task is cancelled.
    @Test func stopsTheTransferWhoseHeadWaitsForItsBody() async throws {
        let origin = try Origin()
        let transport = URLSessionTransport(configuration: .init(transfersAtOnce: 4), time: ManualTime())
        for number in 0..<20 {
            let gate = Gate()
            let beginning = OriginReply.head(200, [("Content-Length", "3")]) + [1]
            origin.on("/\(number)", OriginReply([.send(beginning), .wait(gate), .hold]))
            let task = Task { try await transport.open(.init(url: origin.url("/\(number)"))) }
            await gate.reached()
            for _ in 0..<number * 20 { await Task.yield() }
            task.cancel()
            // A head that came before anybody waited for it is handed on at once.
            do { try await task.value.body.cancel() } catch { #expect((error as? ImageError)?.code == "cancelled") }
            gate.open()
        }
        await origin.allConnectionsClosed()
    }

    @Test func stopsTheTransferWhenTheBodyIsDropped() async throws {
        let origin = try Origin()
        origin.on("/a", OriginReply([.send(OriginReply.head(200)), .forever([1], pause: 1)]))
        var response: TransportResponse? = try await transport.open(.init(url: origin.url("/a")))
        #expect(response?.status == 200)
        response = nil
        await origin.allConnectionsClosed()
    }

    /// URLSession's own are whole seconds, and 0.5 fails at once.
    @Test func keepsIdleDeadlinesBelowASecond() async throws {
        let origin = try Origin()
        let gate = Gate()
        origin.on("/head", OriginReply([.wait(gate), .hold]))
        origin.on("/body", OriginReply([.send(OriginReply.head(200) + [1]), .hold]))
        let time = ManualTime()
        let transport = URLSessionTransport(configuration: .init(transfersAtOnce: 4), time: time)
        let deadlines = Deadlines(connect: 5, idle: 0.5)

        let head = Task { try await transport.open(.init(url: origin.url("/head"), deadlines: deadlines)) }
        await gate.reached()
        await time.sleepers(1)
        time.advance(seconds: 0.6)
        await #expect { try await head.value } throws: {
            guard case .timedOut(.idle, _) = $0 as? ImageError else { return false }
            return true
        }
        gate.open()

        let response = try await transport.open(.init(url: origin.url("/body"), deadlines: deadlines))
        #expect(try await response.body.next() == [1])
        await time.sleepers(1)
        time.advance(seconds: 0.6)
        await #expect { try await response.body.all() } throws: {
            guard case .timedOut(.idle, _) = $0 as? ImageError else { return false }
            return true
        }
        await origin.connectionsClosed(atLeast: 2)
    }

    /// The address is one that nobody answers at: a listener whose queue is full, so that no handshake ends.
    @Test func keepsItsConnectDeadline() async throws {
        let deaf = try DeafListener()
        let time = ManualTime()
        let transport = URLSessionTransport(configuration: .init(transfersAtOnce: 4), time: time)
        let deadlines = Deadlines(connect: 0.5, idle: 5)
        let task = Task { try await transport.open(.init(url: deaf.url, deadlines: deadlines)) }
        await time.sleepers(1)
        time.advance(seconds: 0.6)
        await #expect { try await task.value } throws: {
            guard case .timedOut(.connect, _) = $0 as? ImageError else { return false }
            return true
        }
    }

    @Test func runsNoMoreThanItsTransfersAtOnce() async throws {
        let origin = try Origin()
        let gate = Gate()
        origin.otherwise { _ in .gated([1], at: gate) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<12 {
                group.addTask { [transport] in
                    let response = try await transport.open(.init(url: origin.url("/\(index)")))
                    #expect(try await response.body.all() == [1])
                }
            }
            await gate.reached(by: 4)
            #expect(origin.requests.count == 4)
            gate.open()
            try await group.waitForAll()
        }
        #expect(origin.requests.count == 12)
    }

    @Test func refusesAHeaderSectionThatIsTooLarge() async throws {
        let origin = try Origin()
        origin.on("/a", .ok([1], [("X-Long", String(repeating: "x", count: 2000))]))
        await #expect { try await transport.open(.init(url: origin.url("/a"), maxHeaderBytes: 1000)) } throws: {
            ($0 as? ImageError)?.code == "too_large"
        }
    }

    @Test func refusesLoopbackUnderPublicOnly() async throws {
        let origin = try Origin()
        for host in ["127.0.0.1", "localhost"] {
            let url = URL(string: "http://\(host):\(origin.port)/a")!
            await #expect { try await transport.open(.init(url: url, addresses: .publicOnly)) } throws: {
                guard case .refused(.address, _) = $0 as? ImageError else { return false }
                return true
            }
        }
        #expect(origin.connections == 0)
    }
}

extension ResponseBody {
    /// Everything until the end.
    func all() async throws(ImageError) -> [UInt8] {
        var bytes: [UInt8] = []
        while let chunk = try await next() { bytes += chunk }
        return bytes
    }
}

/// A port where connections hang: nobody accepts, and the queue of those that wait is full.
final class DeafListener {
    private let fd: Int32
    let url: URL

    init() throws {
        fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let address = withUnsafeMutablePointer(to: &name) { UnsafeMutableRawPointer($0) }
            .assumingMemoryBound(to: sockaddr.self)
        guard bind(fd, address, length) == 0, listen(fd, 0) == 0, getsockname(fd, address, &length) == 0 else {
            throw SocketError(errno: errno)
        }
        url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: name.sin_port))/")!
        for _ in 0..<4 {
            let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            _ = connect(filler, address, length)
            // What waits in the queue stays there; a socket of ours would look like a connection of the transport's.
            close(filler)
        }
    }

    deinit { close(fd) }

    /// A challenge for a task that the transfer has left for a fresh one tells it nothing, and whoever waits goes on
    /// waiting for the fresh one's answer.
    @Test func aLateChallengeOfAnotherTaskEndsNothing() async throws {
        let origin = try Origin()
        let gate = Gate()
        let answer = OriginReply.ok([1, 2, 3])
        origin.on("/a", OriginReply([.wait(gate)] + answer.steps))
        let watch = TransferWatch(configuration: .init(), time: SystemTime())
        let transfer = URLSessionTransfer(
            request: .init(url: origin.url("/a")), sessions: URLSessionPool(), watch: watch, release: {})
        async let response = transfer.open()
        _ = await origin.requests(atLeast: 1)
        let other = URLSession(configuration: .ephemeral)
        transfer.answeredByChallenge(other.dataTask(with: URLRequest(url: origin.url("/b"))))
        #expect(transfer.isWanted)
        gate.open()
        #expect(try await response.body.all() == [1, 2, 3])
        other.invalidateAndCancel()
    }
}
