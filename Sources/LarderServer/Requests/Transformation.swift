import Larder

/// What is to be made of an image before it is sent: imgix's parameters and thumbor's path both come to this.
package struct Transformation: Sendable, Hashable {
    package enum Fit: String, Sendable, Hashable, CaseIterable {
        /// Within the box, enlarged where it is smaller.
        case clip
        /// Within the box, never enlarged.
        case max
        /// Fills the box; what stands out is cut off on both sides alike.
        case crop
    }

    /// The box in pixels, `dpr` already applied; nil where that side is free.
    package var width: Int?
    package var height: Int?
    package var fit: Fit
    /// nil: negotiated with the client.
    package var format: ImageFormat?
    /// Of lossy formats, 1 to 100; nil where nothing was said: ``defaultQuality``.
    package var quality: Int?

    /// Pixels of the greatest side that may be asked for.
    package static let maxSide = 8192
    package static let defaultQuality = 85

    package init(
        width: Int? = nil, height: Int? = nil, fit: Fit = .clip, format: ImageFormat? = nil,
        quality: Int? = nil
    ) {
        self.width = width
        self.height = height
        self.fit = fit
        self.format = format
        self.quality = quality
    }

    /// Whether the original itself is wanted.
    package var isIdentity: Bool { width == nil && height == nil && format == nil && quality == nil }

    /// The size as `--allow-sizes` writes it: `256x256`, `256x`, `x256`.
    package var sizeText: String { "\(width.map(String.init) ?? "")x\(height.map(String.init) ?? "")" }
}

// MARK: - imgix

extension Transformation {
    /// The names that `/image` knows beside `url`.
    package static let parameterNames = ["w", "h", "fit", "dpr", "fm", "q"]

    /// Reads imgix's parameters: `w`, `h` (pixels), `fit`, `dpr` (1 to 5), `fm`, `q`.
    package init(imgix parameters: [(name: String, value: String)], encoders: [ImageFormat]) throws(Problem) {
        self.init()
        var dpr = 1.0
        for (name, value) in parameters {
            switch name {
            case "w": width = try Self.side(value, name)
            case "h": height = try Self.side(value, name)
            case "fit":
                guard let known = Fit(rawValue: value) else {
                    throw .badRequest(
                        "fit=\(value) is not known. Known are \(Fit.allCases.map(\.rawValue).joined(separator: ", ")).")
                }
                fit = known
            case "dpr":
                guard let ratio = Double(value), ratio >= 1, ratio <= 5 else {
                    throw .badRequest("dpr=\(value) is not a number from 1 to 5.")
                }
                dpr = ratio
            case "fm": format = try Self.encodable(value, encoders)
            case "q":
                guard let number = Self.number(value), (1...100).contains(number) else {
                    throw .badRequest("q=\(value) is not a whole number from 1 to 100.")
                }
                quality = number
            default:
                throw .badRequest(
                    "There is no parameter '\(name.prefix(80))'. Known are url, "
                        + Self.parameterNames.joined(separator: ", ")
                        + ". If it belongs to the image's URL, percent-encode that URL.")
            }
        }
        width = try width.map { side throws(Problem) in try Self.scaled(side, dpr) }
        height = try height.map { side throws(Problem) in try Self.scaled(side, dpr) }
    }

    private static func scaled(_ side: Int, _ dpr: Double) throws(Problem) -> Int {
        let pixels = Int((Double(side) * dpr).rounded())
        guard pixels <= maxSide else {
            throw .badRequest("\(side) times dpr is more than \(maxSide) pixels.")
        }
        return pixels
    }

    package static func side(_ text: some StringProtocol, _ name: String) throws(Problem) -> Int {
        guard let number = number(text), (1...maxSide).contains(number) else {
            throw .badRequest("\(name)=\(text.prefix(20)) is not a whole number of pixels from 1 to \(maxSide).")
        }
        return number
    }

    package static func encodable(_ name: some StringProtocol, _ encoders: [ImageFormat]) throws(Problem) -> ImageFormat
    {
        let name = name == "jpg" || name == "pjpg" ? "jpeg" : String(name)
        guard let format = ImageFormat(rawValue: name), encoders.contains(format) else {
            throw .badRequest(
                "This build cannot write '\(name.prefix(20))'. It writes "
                    + "\(encoders.map(\.rawValue).joined(separator: ", ")).")
        }
        return format
    }

    /// Digits only, without sign, at most nine of them.
    package static func number(_ text: some StringProtocol) -> Int? {
        let digits = text.utf8
        guard (1...9).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }
}
