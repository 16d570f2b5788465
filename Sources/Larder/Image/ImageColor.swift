/// A colour of 8 bits a channel, straight alpha.
public struct ImageColor: Sendable, Hashable, Codable {
    /// 0 to 255.
    public var red: UInt8
    /// 0 to 255.
    public var green: UInt8
    /// 0 to 255.
    public var blue: UInt8
    /// 255 is opaque, the default.
    public var alpha: UInt8

    /// A colour from its channels; opaque by default.
    public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
        self.red = red
        self.green = green
        self.blue = blue
        self.alpha = alpha
    }

    /// The colour that ``hex`` writes so; nil where the text is none.
    public init?(hex: String) {
        guard hex.hasPrefix("#"), hex.utf8.count == 7 || hex.utf8.count == 9,
            hex.dropFirst().allSatisfy(\.isHexDigit), let value = UInt32(hex.dropFirst(), radix: 16)
        else { return nil }
        let color = hex.utf8.count == 7 ? value << 8 | 255 : value
        self.init(
            red: UInt8(color >> 24), green: UInt8(color >> 16 & 255), blue: UInt8(color >> 8 & 255),
            alpha: UInt8(color & 255))
    }

    /// As CSS writes it: `#c81e5a`, and `#c81e5a80` where it is not opaque.
    public var hex: String {
        let digits = Array("0123456789abcdef")
        let channels = alpha == 255 ? [red, green, blue] : [red, green, blue, alpha]
        return "#" + String(channels.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
