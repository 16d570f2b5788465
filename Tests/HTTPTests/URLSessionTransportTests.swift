import Foundation
import TestSupport
import Testing

@testable import Larder

@Suite(.timeLimit(.minutes(1))) struct URLSessionTransportTests {
    let transport = URLSessionTransport(configuration: .init(transfersAtOnce: 4))

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

    @Test func stopsTheTransferWhenTheBodyIsDropped() async throws {
        let origin = try Origin()
        origin.on("/a", OriginReply([.send(OriginReply.head(200)), .forever([1], pause: 1)]))
        var response: TransportResponse? = try await transport.open(.init(url: origin.url("/a")))
        #expect(response?.status == 200)
        response = nil
        await origin.allConnectionsClosed()
    }

    @Test func keepsItsIdleDeadlineBelowASecond() async throws {
        let origin = try Origin()
        origin.on("/head", OriginReply([.hold]))
        origin.on("/body", OriginReply([.send(OriginReply.head(200) + [1]), .hold]))
        let deadlines = Deadlines(connect: 5, idle: 0.3)
        await #expect { try await transport.open(.init(url: origin.url("/head"), deadlines: deadlines)) } throws: {
            guard case .timedOut(.idle, _) = $0 as? ImageError else { return false }
            return true
        }
        let response = try await transport.open(.init(url: origin.url("/body"), deadlines: deadlines))
        await #expect { try await response.body.all() } throws: {
            guard case .timedOut(.idle, _) = $0 as? ImageError else { return false }
            return true
        }
        await origin.allConnectionsClosed()
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
