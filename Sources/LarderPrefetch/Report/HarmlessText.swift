extension String {
    /// The text on one line, with nothing in it that moves the cursor, rings, or turns the direction of reading: what a
    /// server, a manifest or a file name says may hold anything.
    package var harmless: String { harmless(keepsLines: false) }

    /// The same with line feeds left.
    package var harmlessLines: String { harmless(keepsLines: true) }

    private func harmless(keepsLines: Bool) -> String {
        // Nearly every text goes as it is.
        if utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F || $0 == 0x0A && keepsLines }) { return self }
        var result = UnicodeScalarView()
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control where scalar == "\n" && keepsLines: result.append(scalar)
            // What joins letters or emoji is left out: nothing of it is seen.
            case .format where scalar.properties.isJoinControl: break
            case .control, .format, .lineSeparator, .paragraphSeparator: result.append("\u{FFFD}")
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}
