/// Header fields in the order received: names compare without case (RFC 9110 §5.1), a name may repeat.
///
/// Values are kept as received, without surrounding white space; bytes that are not UTF-8 are read as ISO 8859-1.
public struct HTTPFields: Sendable, Hashable, Codable, ExpressibleByDictionaryLiteral {
    /// One line of a header section.
    public struct Field: Sendable, Hashable, Codable {
        /// As received; compared without case.
        public var name: String
        /// Without surrounding white space.
        public var value: String
        /// A field from its name and value.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// In the order received.
    public var fields: [Field]

    /// Fields in the order given; none by default.
    public init(_ fields: [Field] = []) { self.fields = fields }
    /// Fields in the order written.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field($0, $1) }
    }

    /// The values of all fields of that name joined by `, ` (RFC 9110 §5.2), or nil. Setting replaces them all.
    public subscript(name: String) -> String? {
        get {
            let values = self.values(name)
            return values.isEmpty ? nil : values.joined(separator: ", ")
        }
        set {
            fields.removeAll { $0.name.equalsIgnoringCase(name) }
            if let newValue { fields.append(Field(name, newValue)) }
        }
    }

    /// The values of every field of that name, in order.
    public func values(_ name: String) -> [String] {
        fields.compactMap { $0.name.equalsIgnoringCase(name) ? $0.value : nil }
    }

    /// The value of the first field of that name.
    package func first(_ name: String) -> String? { fields.first { $0.name.equalsIgnoringCase(name) }?.value }

    /// Whether there is a field of that name.
    package func contains(_ name: String) -> Bool { fields.contains { $0.name.equalsIgnoringCase(name) } }

    /// Adds a field behind those of the same name.
    public mutating func append(_ name: String, _ value: String) { fields.append(Field(name, value)) }
}

extension String {
    /// ASCII comparison without case: what header names and directives are compared by.
    package func equalsIgnoringCase(_ other: String) -> Bool {
        func lower(_ byte: UInt8) -> UInt8 { byte >= 65 && byte <= 90 ? byte | 0x20 : byte }
        guard utf8.count == other.utf8.count else { return false }
        let isSame = utf8.withContiguousStorageIfAvailable { left in
            other.utf8.withContiguousStorageIfAvailable { right in
                left.indices.allSatisfy { lower(left[$0]) == lower(right[$0]) }
            }
        }
        // Foreign strings have no bytes at hand.
        return (isSame ?? nil) ?? zip(utf8, other.utf8).allSatisfy { lower($0) == lower($1) }
    }
}
