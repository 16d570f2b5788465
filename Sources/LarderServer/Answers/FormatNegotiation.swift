import Larder

/// Which format a thumbnail is sent in where the request does not say (RFC 9110 §12.5.1).
///
/// A modern format is chosen only where the client names it: `*/*` comes from clients that cannot show it, too.
package struct FormatNegotiation: Sendable {
    /// The modern formats that this build writes, the smallest first.
    private let modern: [ImageFormat]

    package init(encoders: [ImageFormat]) {
        modern = [ImageFormat.avif, .jxl, .webp].filter { encoders.contains($0) }
    }

    /// Whether the answer depends on Accept.
    package var varies: Bool { !modern.isEmpty }

    package func format(accept: String?, hasAlpha: Bool) -> ImageFormat {
        let named = accept.map(Self.named) ?? []
        return modern.first { named.contains($0.contentType) } ?? (hasAlpha ? .png : .jpeg)
    }

    /// The types named with a weight above zero, in lower case.
    private static func named(_ accept: String) -> Set<String> {
        var named: Set<String> = []
        for range in accept.split(separator: ",").prefix(64) {
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let type = parts.first else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            if weight > 0 { named.insert(type) }
        }
        return named
    }
}
