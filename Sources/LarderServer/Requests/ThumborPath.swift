import Larder

/// What stands in a thumbor path behind its signature: `[fit-in/]WxH/[smart/][filters:…/]IMAGE`.
///
/// Parts that thumbor knows and this server does not do (trim, manual crop, flips, other alignments and filters) are
/// refused by name, never passed over: a picture other than the one asked for would be worse than none.
package struct ThumborPath: Sendable, Hashable {
    package var transformation: Transformation
    /// The URL of the image, as the client wrote it.
    package var url: String

    /// - Parameter path: without leading slash, signature and `unsafe/`; a query belongs to the image's URL.
    package init(_ path: some StringProtocol, encoders: [ImageFormat]) throws(Problem) {
        var rest = Substring(path)
        var fitsIn = false
        var isSized = false
        var transformation = Transformation(fit: .crop)
        parts: while let slash = rest.firstIndex(of: "/") {
            let part = rest[..<slash]
            switch part {
            case "fit-in": fitsIn = true
            case "adaptive-fit-in", "full-fit-in", "adaptive-full-fit-in", "meta", "debug", "trim":
                throw Self.unsupported(part)
            case "smart", "center", "middle": break
            case "left", "right", "top", "bottom": throw Self.unsupported(part)
            case _ where part.hasPrefix("trim:"): throw Self.unsupported(part)
            case _ where part.hasPrefix("filters:"):
                // A filter's argument may hold slashes: the list ends at ")/".
                guard let end = rest.firstRange(of: ")/") else {
                    throw .badRequest("The list of filters does not end with ')/'.")
                }
                try Self.apply(rest[..<end.lowerBound].dropFirst("filters:".count), to: &transformation, encoders)
                rest = rest[end.upperBound...]
                continue parts
            default:
                if Self.isManualCrop(part) { throw Self.unsupported(part) }
                guard !isSized, let size = try Self.size(part) else { break parts }
                (transformation.width, transformation.height) = size
                isSized = true
            }
            rest = rest[rest.index(after: slash)...]
        }
        guard !rest.isEmpty else { throw .badRequest("The path names no image.") }
        if fitsIn {
            // thumbor enlarges within a box only where the filter `upscale` says so.
            if transformation.fit == .crop { transformation.fit = .max }
        } else if transformation.width == nil || transformation.height == nil {
            if transformation.fit == .crop { transformation.fit = .clip }
        } else if transformation.fit == .clip {
            transformation.fit = .crop
        }
        self.transformation = transformation
        url = try Self.imageURL(rest)
    }

    private static func unsupported(_ part: some StringProtocol) -> Problem {
        Problem(
            400, "unsupported_operation",
            "This server does not do '\(part.prefix(40))'. It does fit-in, WIDTHxHEIGHT, smart, and the filters "
                + "quality, format, upscale and no_upscale.")
    }

    private static func isManualCrop(_ part: Substring) -> Bool {
        let corners = part.split(separator: ":", omittingEmptySubsequences: false)
        return corners.count == 2
            && corners.allSatisfy { corner in
                let sides = corner.split(separator: "x", omittingEmptySubsequences: false)
                return sides.count == 2 && sides.allSatisfy { Transformation.number($0) != nil }
            }
    }

    /// `300x200`, `300x`, `x200`, `0` and nothing for a free side; nil for what is no size.
    private static func size(_ part: Substring) throws(Problem) -> (Int?, Int?)? {
        let sides = part.split(separator: "x", omittingEmptySubsequences: false)
        guard sides.count == 2 else { return nil }
        if sides.contains(where: { $0.hasPrefix("-") && Transformation.number($0.dropFirst()) != nil }) {
            throw unsupported(part)
        }
        guard sides.allSatisfy({ $0.isEmpty || $0 == "orig" || Transformation.number($0) != nil }) else { return nil }
        func side(_ text: Substring, _ name: String) throws(Problem) -> Int? {
            if text.isEmpty || text == "orig" || Transformation.number(text) == 0 { return nil }
            return try Transformation.side(text, name)
        }
        return (try side(sides[0], "width"), try side(sides[1], "height"))
    }

    private static func apply(
        _ filters: Substring, to transformation: inout Transformation, _ encoders: [ImageFormat]
    ) throws(Problem) {
        // "quality(80):format(png": the last ")" went with the "/".
        for filter in filters.split(separator: "):", omittingEmptySubsequences: true) {
            let call = filter.split(separator: "(", maxSplits: 1, omittingEmptySubsequences: false)
            let argument = call.count > 1 ? call[1] : ""
            switch call[0] {
            case "quality":
                guard let quality = Transformation.number(argument), (1...100).contains(quality) else {
                    throw .badRequest("quality(\(argument.prefix(20))) is not a whole number from 1 to 100.")
                }
                transformation.quality = quality
            case "format": transformation.format = try Transformation.encodable(argument, encoders)
            case "upscale": transformation.fit = .clip
            case "no_upscale": transformation.fit = .max
            default: throw unsupported(call[0] + "(…)")
            }
        }
    }

    /// The image's URL: whole or percent-encoded, without scheme (then `http`), or with the double slash that a proxy
    /// has merged.
    private static func imageURL(_ text: Substring) throws(Problem) -> String {
        var url = String(text)
        let head = url.prefix(12).lowercased()
        if head.hasPrefix("http%3a") || head.hasPrefix("https%3a") {
            guard let decoded = url.percentDecoded else {
                throw .badRequest("The image's URL is not percent-encoded UTF-8.")
            }
            url = decoded
        }
        for scheme in ["http:/", "https:/"] where url.lowercased().hasPrefix(scheme) {
            let rest = url.dropFirst(scheme.count)
            return rest.hasPrefix("/") ? url : scheme + "/" + rest
        }
        return "http://" + url
    }
}
