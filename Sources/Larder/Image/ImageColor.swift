/// A colour of 8 bits a channel, straight alpha.
public struct ImageColor: Sendable, Hashable, Codable {
    public var red: UInt8
    public var green: UInt8
    public var blue: UInt8
    /// 255 is opaque, the default.
    public var alpha: UInt8

    public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
        self.red = red
        self.green = green
        self.blue = blue
        self.alpha = alpha
    }

    /// As CSS writes it: `#c81e5a`, and `#c81e5a80` where it is not opaque.
    public var hex: String {
        let digits = Array("0123456789abcdef")
        let channels = alpha == 255 ? [red, green, blue] : [red, green, blue, alpha]
        return "#" + String(channels.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
