/// The lines that pass between a coordinator and its workers. See Documentation/worker-protocol.md.
///
/// Every line after the hello is one JSON object that begins with `{"row":N`, so that neither side has to parse
/// what it only hands on.
package enum WorkerLine {
    /// The protocol's version, said in the hello.
    package static let version = 1
    /// The first line of a worker.
    package static var hello: [UInt8] { Array(#"{"larder_worker":\#(version)}"#.utf8) }
    /// The longest line that either side accepts, in bytes.
    package static let maxLength = 4 << 20

    /// The number in `{"row":N`, or nil where the line does not begin so.
    package static func row(of line: [UInt8]) -> Int? {
        let prefix: StaticString = "{\"row\":"
        return line.withUnsafeBufferPointer { bytes in
            guard prefix.withUTF8Buffer({ bytes.starts(with: $0) }) else { return nil }
            var row = 0
            var digits = 0
            for byte in bytes.dropFirst(prefix.utf8CodeUnitCount) {
                guard byte >= 48, byte <= 57, digits < 18 else { break }
                row = row * 10 + Int(byte - 48)
                digits += 1
            }
            return digits > 0 ? row : nil
        }
    }

    /// Asks a worker to give a row up.
    package static func cancel(row: Int) -> [UInt8] { Array(#"{"row":\#(row),"cancel":true}"#.utf8) }

    /// Whether the line asks to give a row up.
    package static func isCancel(_ line: [UInt8]) -> Bool {
        // Hardly any other line is as short.
        line.count <= 40 && line == row(of: line).map(cancel)
    }
}
