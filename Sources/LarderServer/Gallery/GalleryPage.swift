import Foundation
import Larder

/// The gallery: one page, put together once from the three files beside this one.
package enum GalleryPage {
    /// The page, and the policy that lets nothing but its own script and style run.
    package static let answer: Answer = {
        let style = String(decoding: PackageResources.gallery_css, as: UTF8.self)
        let script = String(decoding: PackageResources.gallery_js, as: UTF8.self)
        let page = String(decoding: PackageResources.gallery_html, as: UTF8.self)
            .replacing("/*{{style}}*/", with: style).replacing("/*{{script}}*/", with: script)
        func hash(_ text: String) -> String {
            "'sha256-\(Data(SHA256.digest(Array(text.utf8))).base64EncodedString())'"
        }
        let policy = [
            "default-src 'none'", "script-src \(hash(script))", "style-src \(hash(style))", "img-src 'self' data:",
            "connect-src 'self'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ]
        let bytes = Array(page.utf8)
        return Answer(
            200,
            fields: [
                "Content-Type": "text/html; charset=utf-8",
                "ETag": "\"\(SHA256.digest(bytes).prefix(16).hex)\"",
                "Cache-Control": "no-cache",
                "Content-Security-Policy": policy.joined(separator: "; "),
                "X-Content-Type-Options": "nosniff",
                "Referrer-Policy": "no-referrer",
                "Cross-Origin-Opener-Policy": "same-origin",
                "Cross-Origin-Resource-Policy": "same-origin",
            ], body: .bytes(bytes))
    }()
}
