import Foundation
import TestSupport
import Testing

@testable import Larder

/// Servers whose certificate or version of TLS must not be accepted.
@Suite(.enabled(if: TLSOrigin.isAvailable, "needs the openssl command"), .timeLimit(.minutes(1)))
struct HostileTLSTests {
    /// URLSession takes no authorities of the caller's, so that here even the good one is unknown.
    @Test(arguments: TLSOrigin.Fault.allCases)
    func overURLSession(_ fault: TLSOrigin.Fault) async throws {
        let origin = try TLSOrigin(fault)
        await #expect {
            try await load(origin.url("/image"), over: URLSessionTransport(configuration: .init(transfersAtOnce: 4)))
        } throws: {
            guard let error = $0 as? ImageError else { return false }
            return error.code == "unreachable" && !error.isRetryable
        }
    }

    #if Curl
        @Test(arguments: TLSOrigin.Fault.allCases)
        func overCurl(_ fault: TLSOrigin.Fault) async throws {
            let origin = try TLSOrigin(fault)
            let transport = CurlTransport(configuration: .init(proxy: .none, authorities: origin.authority))
            if fault == .none {
                #expect(try await load(origin.url("/image"), over: transport) == HostileCase.image)
                return
            }
            await #expect { try await load(origin.url("/image"), over: transport) } throws: {
                guard let error = $0 as? ImageError else { return false }
                return error.code == "unreachable" && !error.isRetryable
            }
        }

        @Test func refusesToLeaveTLSOnARedirect() async throws {
            let origin = try TLSOrigin(.none)
            let transport = CurlTransport(configuration: .init(proxy: .none, authorities: origin.authority))
            await #expect { try await load(origin.url("/down"), over: transport) } throws: {
                guard case .refused(.redirect, _) = $0 as? ImageError else { return false }
                return true
            }
        }
    #endif
}
