import Testing

@testable import Larder

@Suite struct VaryTests {
    private func matches(_ vary: String?, first: HTTPFields, second: HTTPFields) -> Bool {
        let vary = Vary(vary.map { ["Vary": $0] } ?? [:])
        return vary.matches(second, stored: vary.values(of: first))
    }

    @Test func aResponseWithoutVaryMatchesEveryRequest() {
        #expect(matches(nil, first: ["Accept": "a"], second: ["Accept": "b"]))
        #expect(Vary([:]) == .none)
    }

    @Test func namedFieldsMustBeEqualOrAbsentInBoth() {
        #expect(matches("Accept", first: ["accept": "a"], second: ["Accept": "a", "Other": "x"]))
        #expect(!matches("Accept", first: ["Accept": "a"], second: ["Accept": "b"]))
        #expect(!matches("Accept", first: ["Accept": "a"], second: [:]))
        #expect(!matches("Accept", first: [:], second: ["Accept": "a"]))
        #expect(matches("Accept, Origin", first: ["Accept": "a"], second: ["Accept": "a"]))
        #expect(!matches("Accept, Origin", first: ["Accept": "a"], second: ["Accept": "a", "Origin": "o"]))
    }

    /// They are in the key, as a hash: in clear they would lie on disk.
    @Test func credentialsAreNeitherKeptNorCompared() {
        let request: HTTPFields = ["Authorization": "Bearer s", "Cookie": "a=b", "X-Api-Key": "k", "Accept": "a"]
        let vary = Vary(["Vary": "Authorization, Cookie, X-Api-Key, Accept"])
        #expect(vary.values(of: request) == ["accept": "a"])
        #expect(vary.matches(request, stored: ["accept": "a"]))
    }

    @Test func aStarNeverMatches() {
        #expect(!matches("*", first: [:], second: [:]))
        #expect(!matches("Accept, *", first: [:], second: [:]))
        #expect(Vary(["Vary": "Accept, *"]) == .any)
    }

    @Test func whiteSpaceAndRepetitionMakeNoDifference() {
        let two = HTTPFields([.init("Foo", "1"), .init("Foo", "2")])
        #expect(matches("Foo", first: ["Foo": "1 ,2"], second: two))
        #expect(!matches("Foo", first: ["Foo": "2, 1"], second: two))
        #expect(Vary(["Vary": "b , A,, b"]) == .fields(["a", "b"]))
    }
}
