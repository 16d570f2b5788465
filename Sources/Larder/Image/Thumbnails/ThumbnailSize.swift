/// How big a thumbnail shall be, in vipsthumbnail's syntax.
///
/// `256` and `256x256` fit the upright image into a box, `256x` and `x128` give one side and let the other follow.
/// A suffix `>` only shrinks, `<` only enlarges, `!` gives up the image's proportions.
public struct ThumbnailSize: Sendable, Hashable {
    /// What is done to images that are smaller or larger than the size.
    public enum Rule: String, Sendable, Hashable, CaseIterable {
        /// Shrink or enlarge until it fits.
        case both = ""
        /// An image that is smaller stays as it is.
        case onlyShrink = ">"
        /// An image that is larger stays as it is.
        case onlyEnlarge = "<"
        /// Both sides exactly, whatever the proportions.
        case force = "!"
    }

    /// Pixels, 1 to ``greatest``; nil lets it follow the other side.
    public let width: Int?
    /// Pixels, 1 to ``greatest``; nil lets it follow the other side.
    public let height: Int?
    /// What is done to images that are smaller or larger.
    public let rule: Rule
    /// Fill the box and cut off evenly what sticks out, instead of fitting into it. Without effect where a side is
    /// missing or with ``Rule/force``.
    public var crop: Bool

    /// The longest side that JPEG can hold.
    public static let greatest = 65_500

    /// nil where both sides are missing or one is out of range.
    public init?(width: Int?, height: Int?, rule: Rule = .both, crop: Bool = false) {
        guard width != nil || height != nil else { return nil }
        for side in [width, height] {
            if let side, !(1...Self.greatest ~= side) { return nil }
        }
        self.width = width
        self.height = height
        self.rule = rule
        self.crop = crop
    }

    /// What the image becomes: its upright size in pixels after scaling and cropping.
    public func target(for header: ImageHeader) -> (width: Int, height: Int) {
        let plan = plan(width: header.displayWidth, height: header.displayHeight)
        return (plan.window.width, plan.window.height)
    }

    struct Plan: Equatable {
        /// The whole image, scaled.
        var scaled: Extent
        /// The part of it that is kept.
        var window: Extent
        var left: Int
        var top: Int
    }

    struct Extent: Equatable {
        var width: Int
        var height: Int
    }

    /// - Parameters: the upright image's size.
    func plan(width sourceWidth: Int, height sourceHeight: Int) -> Plan {
        let (across, down) = (Double(max(1, sourceWidth)), Double(max(1, sourceHeight)))
        var horizontal = width.map { across / Double($0) }
        var vertical = height.map { down / Double($0) }
        let crops = crop && rule != .force && width != nil && height != nil
        if rule != .force || width == nil || height == nil {
            let factors = [horizontal, vertical].compactMap { $0 }
            var factor = (crops ? factors.min() : factors.max()) ?? 1
            if rule == .onlyShrink { factor = max(1, factor) }
            if rule == .onlyEnlarge { factor = min(1, factor) }
            (horizontal, vertical) = (factor, factor)
        }
        func side(_ length: Double, _ factor: Double?) -> Int {
            max(1, Int(min((length / (factor ?? 1)).rounded(), Double(Self.greatest))))
        }
        let scaled = Extent(width: side(across, horizontal), height: side(down, vertical))
        let window =
            crops ? Extent(width: min(scaled.width, width ?? 0), height: min(scaled.height, height ?? 0)) : scaled
        return Plan(
            scaled: scaled, window: window, left: (scaled.width - window.width) / 2,
            top: (scaled.height - window.height) / 2)
    }
}

extension ThumbnailSize: LosslessStringConvertible {
    /// Parses vipsthumbnail's syntax; nil where it is something else.
    public init?(_ text: String) {
        var sides = text[...]
        var rule = Rule.both
        if let last = sides.last, let found = Rule(rawValue: String(last)) {
            rule = found
            sides.removeLast()
        }
        let parts = sides.split(separator: "x", omittingEmptySubsequences: false)
        func side(_ part: Substring) -> Int?? {
            if part.isEmpty { return .some(nil) }
            guard part.allSatisfy({ $0.isASCII && $0.isNumber }), let value = Int(part) else { return nil }
            return value
        }
        switch parts.count {
        case 1:
            guard let value = Int(parts[0]), parts[0].first?.isNumber == true else { return nil }
            self.init(width: value, height: value, rule: rule)
        case 2:
            guard let width = side(parts[0]), let height = side(parts[1]) else { return nil }
            self.init(width: width, height: height, rule: rule)
        default: return nil
        }
    }

    /// The same size in its full form: `256x256` for `256`. Says nothing of ``crop``.
    public var description: String {
        "\(width.map(String.init) ?? "")x\(height.map(String.init) ?? "")\(rule.rawValue)"
    }
}
