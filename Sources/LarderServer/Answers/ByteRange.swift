/// The Range field (RFC 9110 §14.2), as far as it is honoured: one range of bytes. Several are answered whole, which
/// §14.2 allows.
package enum ByteRange {
    package enum Outcome: Sendable, Hashable {
        /// Not a range that we honour: the whole representation.
        case whole
        case part(offset: Int, length: Int)
        /// 416.
        case unsatisfiable
    }

    /// - Parameters:
    ///   - field: the value of Range.
    ///   - length: bytes of the whole representation.
    package static func parse(_ field: some StringProtocol, length: Int) -> Outcome {
        let bytes = Array(field.utf8)
        guard let equals = bytes.firstIndex(of: UInt8(ascii: "=")),
            String(decoding: bytes[..<equals], as: UTF8.self).lowercased() == "bytes"
        else { return .whole }
        let specs = bytes[(equals + 1)...].split(separator: UInt8(ascii: ","), omittingEmptySubsequences: true)
            .map(trimmed).filter { !$0.isEmpty }
        // A field of another form is passed over (RFC 9110 §14.2: "MAY ignore").
        guard specs.count == 1, let spec = specs.first, let dash = spec.firstIndex(of: UInt8(ascii: "-")) else {
            return .whole
        }
        let (first, last) = (spec[..<dash], spec[(dash + 1)...])
        if first.isEmpty {
            guard let suffix = number(last) else { return .whole }
            guard suffix > 0, length > 0 else { return .unsatisfiable }
            let taken = min(suffix, length)
            return .part(offset: length - taken, length: taken)
        }
        guard let start = number(first) else { return .whole }
        guard !last.isEmpty else {
            return start < length ? .part(offset: start, length: length - start) : .unsatisfiable
        }
        guard let end = number(last), end >= start else { return .whole }
        guard start < length else { return .unsatisfiable }
        return .part(offset: start, length: min(end, length - 1) - start + 1)
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        let front = bytes.drop(while: isSpace)
        return front.lastIndex { !isSpace($0) }.map { front[...$0] } ?? []
    }

    /// Digits only; held to `Int.max` where they are too many. nil for anything else.
    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        guard !digits.isEmpty else { return nil }
        var value = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { return nil }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, over) = product.addingReportingOverflow(Int(digit - 0x30))
            value = overflow || over ? Int.max : sum
        }
        return value
    }
}
