/// A fixed set of header field names, which compare without case (RFC 9110 §5.1). A look-up neither copies nor hashes:
/// nearly every other name is of another length.
package struct FieldNames: Sendable, ExpressibleByArrayLiteral {
    private let names: [String]
    /// A bit for each length that occurs.
    private let lengths: UInt64

    /// Names of fewer than 64 bytes.
    package init(arrayLiteral names: String...) {
        precondition(names.allSatisfy { $0.utf8.count < 64 })
        self.names = names
        lengths = names.reduce(0) { $0 | 1 << UInt64($1.utf8.count) }
    }

    package func contains(_ name: String) -> Bool {
        let length = name.utf8.count
        return length < 64 && lengths >> UInt64(length) & 1 == 1 && names.contains { $0.equalsIgnoringCase(name) }
    }
}
