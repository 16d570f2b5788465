import Foundation
import Larder
import Testing

@testable import LarderServer

/// The gallery in a real browser. Skipped where there is no Chromium.
@Suite(.enabled(if: Chromium.path != nil, "Chromium is not installed"), .serialized)
struct GalleryTests {
    private let fixture: ServerFixture
    private let daemon: HTTPDaemon
    private let origin: String

    init() throws {
        fixture = try ServerFixture(time: SystemTime())
        for index in 0..<1000 {
            _ = try fixture.storePicture("https://images.example/list/\(index).png", width: 40 + index % 50, height: 40)
        }
        fixture.tier.rememberFailure(
            CacheKey(url: "https://images.example/gone.png"), code: "http_status",
            until: SystemTime().now.adding(seconds: 600))
        fixture.tier.flush()
        daemon = try HTTPDaemon(
            on: ListenSocket.bind(host: "127.0.0.1", port: 0), handler: fixture.server(),
            configuration: .init(threads: 2))
        origin = "http://127.0.0.1:\(daemon.socket.port)"
    }

    @Test func aThousandImagesAreSearchedOpenedAndTheirFailuresShown() async throws {
        let browser = try Chromium()
        try await browser.open(origin + "/")
        try await browser.wait(for: "document.getElementById('status').textContent.includes('1,000 images')")
        try await browser.wait(for: "document.querySelectorAll('.tile[data-phase=success] img').length >= 12")
        // Only what is near the window is there.
        #expect(Int(try await browser.evaluate("document.querySelectorAll('.tile').length")).map { $0 < 120 } == true)

        try await browser.wait(for: "(scrollTo(0, 1e6), document.querySelector('[aria-posinset=\"1000\"]') !== null)")
        try await browser.wait(for: "document.querySelector('[aria-posinset=\"1000\"]').dataset.phase === 'success'")

        let type = "(q.value = 'list/77', q.dispatchEvent(new Event('input')))"
        _ = try await browser.evaluate("(() => { const q = document.getElementById('q'); return \(type); })()")
        try await browser.wait(for: "document.getElementById('status').textContent.startsWith('11 images')")
        try await browser.wait(for: "document.querySelectorAll('.tile[data-phase=success]').length === 11")

        _ = try await browser.evaluate("document.querySelector('.tile button').click()")
        try await browser.wait(for: "document.getElementById('detail').open")
        try await browser.wait(for: "document.getElementById('stage').dataset.phase === 'success'")
        try await browser.wait(for: "document.getElementById('detail-body').textContent.includes('SHA-256')")
        #expect(
            try await browser.evaluate("document.getElementById('detail-url').href").hasPrefix(
                "https://images.example/list/77"))
        _ = try await browser.evaluate("document.getElementById('close-button').click()")

        _ = try await browser.evaluate(
            "(() => { const q = document.getElementById('q'); q.value = ''; q.dispatchEvent(new Event('input')); "
                + "document.querySelector('#states [value=failed]').click(); })()")
        try await browser.wait(for: "document.getElementById('status').textContent.startsWith('1 failure')")
        try await browser.wait(for: "document.querySelector('.tile').dataset.phase === 'failure'")
        #expect(try await browser.evaluate("document.querySelector('.tile .name').textContent") == "gone.png")

        let record = try await browser.record()
        #expect(record.errors.isEmpty, "\(record.errors)")
        let foreign = record.requested.filter { !$0.hasPrefix(origin) && !$0.hasPrefix("data:") && $0 != "about:blank" }
        #expect(foreign.isEmpty)
        #expect(record.requested.count > 20)
    }

    @Test func theKeyboardGoesEverywhere() async throws {
        let browser = try Chromium()
        try await browser.open(origin + "/", width: 420, height: 800, isDark: true)
        try await browser.wait(for: "document.querySelectorAll('.tile[data-phase=success]').length > 3")
        func press(_ key: String) async throws {
            _ = try await browser.evaluate(
                "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: '\(key)', bubbles: true }))")
        }
        _ = try await browser.evaluate("document.querySelector('.tile button').focus()")
        try await press("ArrowRight")
        #expect(try await browser.evaluate("document.activeElement.closest('.tile').dataset.index") == "1")
        try await press("End")
        try await browser.wait(for: "document.activeElement.closest('.tile').dataset.index === '999'")
        try await press("Home")
        try await browser.wait(for: "document.activeElement.closest('.tile').dataset.index === '0'")
        try await press("/")
        #expect(try await browser.evaluate("document.activeElement.id") == "q")
        #expect(
            try await browser.evaluate("document.querySelector('.tile button').getAttribute('aria-label')").contains(
                "PNG"))
    }

    @Test func aLockedLarderAsksForItsToken() async throws {
        let locked = try HTTPDaemon(
            on: ListenSocket.bind(host: "127.0.0.1", port: 0),
            handler: fixture.server(access: AccessControl(token: Secret("open sesame"))))
        let browser = try Chromium()
        try await browser.open("http://127.0.0.1:\(locked.socket.port)/")
        try await browser.wait(for: "document.getElementById('login').open")
        let submit = "document.getElementById('login-form').requestSubmit()"
        _ = try await browser.evaluate("(document.getElementById('token').value = 'wrong', \(submit))")
        try await browser.wait(for: "document.getElementById('login-wrong').textContent.includes('not the token')")
        _ = try await browser.evaluate("(document.getElementById('token').value = 'open sesame', \(submit))")
        try await browser.wait(for: "document.getElementById('status').textContent.includes('1,000 images')")
        try await browser.wait(for: "document.querySelectorAll('.tile[data-phase=success] img').length > 3")
        locked.stopNow()
    }
}
