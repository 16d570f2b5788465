import Foundation
import Larder
import Testing

@testable import LarderServer

/// The gallery in a real browser. Skipped where there is no Chromium.
@Suite(.enabled(if: Chromium.path != nil, "Chromium is not installed"), .serialized)
struct GalleryTests {
    /// A server over so many images and one failure.
    private struct Served {
        let fixture: ServerFixture
        let daemon: HTTPDaemon
        var origin: String { "http://127.0.0.1:\(daemon.socket.port)" }

        init(_ count: Int, access: AccessControl = .init()) throws {
            fixture = try ServerFixture(time: SystemTime())
            for index in 0..<count {
                let url = "https://images.example/list/\(index).png"
                _ = try fixture.storePicture(url, width: 40 + index % 50, height: 40)
            }
            fixture.tier.rememberFailure(
                CacheKey(url: "https://images.example/gone.png"), code: "http_status:404",
                until: SystemTime().now.adding(seconds: 600))
            fixture.tier.flush()
            daemon = try HTTPDaemon(
                on: ListenSocket.bind(host: "127.0.0.1", port: 0), handler: fixture.server(access: access),
                configuration: .init(threads: 2, idleTimeout: 200))
        }
    }

    @Test func aThousandImagesAreSearchedOpenedAndTheirFailuresShown() async throws {
        let served = try Served(1000)
        let origin = served.origin
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
        served.daemon.stopNow()
    }

    @Test func theKeyboardGoesEverywhere() async throws {
        let served = try Served(300)
        let browser = try Chromium()
        try await browser.open(served.origin + "/", width: 420, height: 800, isDark: true)
        try await browser.wait(for: "document.querySelectorAll('.tile[data-phase=success]').length > 3")
        func press(_ key: String) async throws {
            _ = try await browser.evaluate(
                "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: '\(key)', bubbles: true }))")
        }
        _ = try await browser.evaluate("document.querySelector('.tile button').focus()")
        try await press("ArrowRight")
        #expect(try await browser.evaluate("document.activeElement.closest('.tile').dataset.index") == "1")
        try await press("End")
        try await browser.wait(for: "document.activeElement.closest('.tile').dataset.index === '299'")
        try await press("Home")
        try await browser.wait(for: "document.activeElement.closest('.tile').dataset.index === '0'")
        try await press("/")
        #expect(try await browser.evaluate("document.activeElement.id") == "q")
        #expect(
            try await browser.evaluate("document.querySelector('.tile button').getAttribute('aria-label')").contains(
                "PNG"))
        served.daemon.stopNow()
    }

    /// Light and dark, wide and narrow. `LARDER_SCREENSHOTS` names a folder to keep the pictures in.
    @Test func itFitsEveryWindow() async throws {
        let served = try Served(60)
        let browser = try Chromium()
        for (name, width, height) in [("wide", 1280, 860), ("narrow", 390, 844)] {
            for isDark in [false, true] {
                try await browser.open(served.origin + "/", width: width, height: height, isDark: isDark)
                try await browser.wait(for: "document.querySelectorAll('.tile[data-phase=success] img').length > 3")
                let overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                #expect(try await browser.evaluate(overflow) == "0")
                let ground = try await browser.evaluate(
                    "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g)[0] < 128")
                #expect(ground == "\(isDark)")
                guard let folder = ProcessInfo.processInfo.environment["LARDER_SCREENSHOTS"] else { continue }
                try await browser.screenshot("\(folder)/gallery-\(name)-\(isDark ? "dark" : "light").png")
            }
        }
        served.daemon.stopNow()
    }

    /// What a URL or a field says is text, whatever it looks like.
    @Test func noNameIsMarkup() async throws {
        let hostile = try ServerFixture(time: SystemTime())
        let script = "<img src=x onerror=hacked=1><script>hacked=1</script>"
        let encoded = "%3Cimg%20src=x%20onerror=hacked=1%3E%22%27%3E%3Cscript%3Ehacked=1%3C%2Fscript%3E.png"
        for url in ["https://images.example/\"'>\(script)", "https://images.example/\(encoded)", "javascript:hacked=1"]
        {
            _ = try hostile.storePicture(url)
        }
        hostile.tier.rememberFailure(
            CacheKey(url: "https://images.example/\(script)"), code: script,
            until: SystemTime().now.adding(seconds: 600))
        hostile.tier.flush()
        let daemon = try HTTPDaemon(
            on: ListenSocket.bind(host: "127.0.0.1", port: 0), handler: hostile.server())
        let browser = try Chromium()
        try await browser.open("http://127.0.0.1:\(daemon.socket.port)/")
        try await browser.wait(for: "document.querySelectorAll('.tile[data-phase=success]').length === 3")
        for place in 0..<3 {
            _ = try await browser.evaluate("document.querySelectorAll('.tile button')[\(place)].click()")
            try await browser.wait(for: "document.getElementById('detail-body').textContent.includes('SHA-256')")
            let link = try await browser.evaluate("document.getElementById('detail-url').getAttribute('href')")
            #expect(link.hasPrefix("https://images.example/") || link == "null")
            _ = try await browser.evaluate("document.getElementById('close-button').click()")
        }
        _ = try await browser.evaluate("document.querySelector('#states [value=failed]').click()")
        try await browser.wait(for: "document.querySelector('.tile')?.dataset.phase === 'failure'")
        #expect(try await browser.evaluate("typeof hacked") == "undefined")
        #expect(try await browser.evaluate("document.querySelectorAll('main script, dialog script').length") == "0")
        #expect(try await browser.record().errors.isEmpty)
        daemon.stopNow()
    }

    @Test func aLockedLarderAsksForItsToken() async throws {
        let locked = try Served(60, access: AccessControl(token: Secret("open sesame")))
        let browser = try Chromium()
        try await browser.open(locked.origin + "/")
        try await browser.wait(for: "document.getElementById('login').open")
        let submit = "document.getElementById('login-form').requestSubmit()"
        _ = try await browser.evaluate("(document.getElementById('token').value = 'wrong', \(submit))")
        try await browser.wait(for: "document.getElementById('login-wrong').textContent.includes('not the token')")
        _ = try await browser.evaluate("(document.getElementById('token').value = 'open sesame', \(submit))")
        try await browser.wait(for: "document.getElementById('status').textContent.includes('60 images')")
        try await browser.wait(for: "document.querySelectorAll('.tile[data-phase=success] img').length > 3")
        locked.daemon.stopNow()
    }
}
