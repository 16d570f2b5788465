import LarderWorkers

/// Numbers as people read them.
package enum Amount {
    /// `1,234,567`
    package static func count(_ number: Int) -> String {
        let digits = String(number.magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return (number < 0 ? "-" : "") + text
    }

    /// `512 B`, `1.5 MB`: units of 1024.
    package static func bytes(_ number: Int) -> String {
        var value = Double(number)
        var unit = 0
        let units = ["B", "KB", "MB", "GB", "TB", "PB", "EB"]
        while value >= 1000, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        return unit == 0
            ? "\(number) B" : decimal(value, places: value < 10 ? 2 : value < 100 ? 1 : 0) + " " + units[unit]
    }

    /// `0.84 s`, `12.3 s`, `4:05`, `2:03:59`
    package static func time(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds >= 0, seconds < 1e9 else { return "-" }
        if seconds < 10 { return decimal(seconds, places: 2) + " s" }
        if seconds < 60 { return decimal(seconds, places: 1) + " s" }
        let whole = Int(seconds.rounded())
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return whole < 3600
            ? "\(whole / 60):\(two(whole % 60))" : "\(whole / 3600):\(two(whole / 60 % 60)):\(two(whole % 60))"
    }

    package static func decimal(_ value: Double, places: Int) -> String {
        var writer = JSONWriter()
        writer.number(value, places: places)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
