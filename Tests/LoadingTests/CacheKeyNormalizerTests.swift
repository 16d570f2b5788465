import Testing

@testable import Larder

@Suite struct CacheKeyNormalizerTests {
    @Test(arguments: [
        ("https://img.example.com/a.jpg?w=1&X-Amz-Date=2&X-Amz-Signature=3", "https://img.example.com/a.jpg?w=1"),
        ("https://img.example.com/a.jpg?Expires=1", "https://img.example.com/a.jpg"),
        ("https://img.example.com/a.jpg?expires=1", "https://img.example.com/a.jpg?expires=1"),
        ("https://img.example.com/a.jpg?Expired=1&Expires", "https://img.example.com/a.jpg?Expired=1"),
        ("https://example.org/a.jpg?Expires=1", "https://example.org/a.jpg?Expires=1"),
        ("https://img.example.com/Expires=1", "https://img.example.com/Expires=1"),
    ]) func whatDoesNotNameThePictureIsDropped(url: String, key: String) throws {
        let normalizer = CacheKey.Normalizer(dropping: ["X-Amz-*", "Expires"], on: "*.example.com")
        #expect(normalizer(try NormalizedURL(url)) == key)
    }

    @Test func everythingStaysByDefault() throws {
        #expect(CacheKey.Normalizer()(try NormalizedURL("http://a.example/?b=1")) == "http://a.example/?b=1")
    }

    @Test func aHostThatIsNoPatternMatchesNothing() throws {
        let normalizer = CacheKey.Normalizer(dropping: ["*"], on: "https://a.example/")
        #expect(normalizer(try NormalizedURL("http://a.example/?b=1")) == "http://a.example/?b=1")
    }

    @Test func aStarDropsTheWholeQuery() throws {
        #expect(
            CacheKey.Normalizer(dropping: ["*"])(try NormalizedURL("http://a.example/x?b=1&c")) == "http://a.example/x")
    }
}
