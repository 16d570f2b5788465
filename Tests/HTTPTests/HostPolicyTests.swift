import Testing

@testable import Larder

@Suite struct HostPolicyTests {
    private func policy(allow: [String] = [], deny: [String] = []) -> HostPolicy {
        HostPolicy(allowed: allow.compactMap { .init($0) }, denied: deny.compactMap { .init($0) })
    }

    @Test func permitsEverythingByDefault() { #expect(HostPolicy().permits("example.com")) }

    @Test func permitsOnlyWhatIsAllowed() {
        let policy = policy(allow: ["example.com", "*.cdn.example"])
        #expect(policy.permits("example.com"))
        #expect(policy.permits("EXAMPLE.com."))
        #expect(!policy.permits("www.example.com"))
        #expect(!policy.permits("badexample.com"))
        #expect(policy.permits("a.cdn.example"))
        #expect(policy.permits("a.b.cdn.example"))
        #expect(!policy.permits("cdn.example"))
        #expect(!policy.permits("xcdn.example"))
    }

    @Test func deniesWhatIsDeniedThoughAllowed() {
        let policy = policy(allow: ["*.example"], deny: ["bad.example"])
        #expect(policy.permits("good.example"))
        #expect(!policy.permits("bad.example"))
    }

    @Test func knowsAnAddressInEverySpelling() {
        let policy = policy(deny: ["127.0.0.1", "[2001:db8::1]"])
        #expect(!policy.permits("127.1"))
        #expect(!policy.permits("2130706433"))
        #expect(!policy.permits("2001:DB8:0::1"))
        #expect(policy.permits("127.0.0.2"))
    }

    @Test func comparesInternationalNamesInOneForm() {
        #expect(!policy(deny: ["bücher.example"]).permits("xn--bcher-kva.example"))
    }

    @Test(arguments: ["", "http://a", "a/b", "a:80", "a*b", "*.", "*.*", "a b", "a@b"])
    func refusesWhatIsNoPattern(text: String) { #expect(HostPolicy.Pattern(text) == nil) }
}
