import Foundation
import Larder
import TestSupport
import Testing

@testable import LarderCommand

/// `--proxy` and `--cacert`: what they do over curl, and what they say over urlsession.
struct ConnectionOptionsTests {
    private let kept = KeptConsole()
    private let directory = TemporaryDirectory()

    private func get(_ arguments: String...) async -> LarderCommand.ExitStatus {
        await Program.run(["get", "--cache", directory.path, "--retry", "0"] + arguments, kept.console())
    }

    @Test(arguments: [["--proxy", "http://127.0.0.1:1"], ["--cacert", "/etc/passwd"]])
    func urlsessionSaysThatItCannot(option: [String]) async {
        #expect(await get("http://127.0.0.1:1/a.png", option[0], option[1]) == .usage)
        #expect(kept.err.contains("\(option[0]) needs --transport curl"))
    }

    @Test func workersShareTheRates() throws {
        let words = ["--limit-rate=100", "--host-rate=3", "--retry=1"]
        let loading = try LoadingOptions(ArgumentParser(Command.get.allOptions, environment: [:]).parse(words))
        #expect(loading.requestsPerSecond == 3)
        #expect(loading.share(of: words, amongWorkers: 2) == ["--retry=1", "--limit-rate=50", "--host-rate=1.5"])
    }

    #if Curl
        @Test func theProxyIsAsked() async throws {
            let proxy = try Origin()
            proxy.otherwise { _ in .ok(HostileCase.image) }
            let address = "http://127.0.0.1:\(proxy.port)"
            #expect(await get("http://images.example/a.png", "--transport", "curl", "--proxy", address) == .success)
            #expect(proxy.requests.map(\.target) == ["http://images.example/a.png"])
        }

        @Test func aProxyAndPublicOnlyExcludeEachOther() async {
            let status = await get(
                "http://images.example/a.png", "--transport", "curl", "--proxy", "http://127.0.0.1:1", "--public-only")
            #expect(status == .usage)
            #expect(kept.err.contains("--proxy and --public-only"))
        }

        @Test(.enabled(if: TLSOrigin.isAvailable, "needs the openssl command"))
        func theAuthoritiesAreTrusted() async throws {
            let origin = try TLSOrigin(.none)
            let url = origin.url("/image").absoluteString
            #expect(await get(url, "--transport", "curl") == .noneSucceeded)
            #expect(await get(url, "--transport", "curl", "--cacert", origin.authority) == .success)
        }

        @Test func authoritiesThatCannotBeReadAreSaidToBe() async {
            #expect(await get("https://127.0.0.1:1/", "--transport", "curl", "--cacert", "/no/such.pem") == .usage)
            #expect(kept.err.contains("/no/such.pem"))
        }
    #endif
}
