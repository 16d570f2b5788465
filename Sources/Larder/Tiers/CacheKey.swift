/// The name under which one stored response or variant is kept, hashed once, when made.
///
/// Two keys are equal only where every part is: the hash names the file, and the parts are compared again when
/// the file is opened, so that a collision is a miss and never a wrong picture.
public struct CacheKey: Sendable, Hashable {
    /// The normalised URL, or the caller's own key for it.
    public let url: String
    /// What was made of the original, such as `256x256>;jpeg;85`; nil for the original itself.
    public let variant: String?
    /// 64 hex digits that stand for the credentials of a private entry; nil for what may be shared.
    public let partition: String?
    /// The first 128 bits of SHA-256 over the length-prefixed parts.
    public let hash: Hash

    /// 16 bytes, written as 32 lower-case hex digits.
    public struct Hash: Sendable, Hashable, CustomStringConvertible {
        /// The first 8 bytes, big-endian.
        public let high: UInt64
        /// The last 8 bytes, big-endian.
        public let low: UInt64
        /// A hash from its halves.
        public init(high: UInt64, low: UInt64) {
            self.high = high
            self.low = low
        }

        /// A digest is spread evenly: half of it will do.
        public func hash(into hasher: inout Hasher) { hasher.combine(high) }

        /// 32 lower-case hex digits.
        public var description: String {
            String(unsafeUninitializedCapacity: 32) { buffer in
                for index in 0..<32 { buffer[index] = digit(index) }
                return 32
            }
        }

        /// Of the 32 hex digits the one at that place, as ASCII.
        fileprivate func digit(_ index: Int) -> UInt8 {
            let half = index < 16 ? high : low
            let value = UInt8(truncatingIfNeeded: half >> (60 - 4 * UInt64(index & 15)) & 15)
            return value < 10 ? 48 + value : 87 + value
        }
    }

    /// A key from its parts, hashed at once.
    public init(url: String, variant: String? = nil, partition: String? = nil) {
        self.url = url
        self.variant = variant
        self.partition = partition
        // Each part is prefixed with its length (absent: all ones), so that ["a","bc"] is not ["ab","c"].
        let digest = SHA256.beginning { update in
            func feed(_ part: String?) {
                let length = (part.map { UInt64($0.utf8.count) } ?? .max).littleEndian
                withUnsafeBytes(of: length) { update($0) }
                guard var part else { return }
                part.withUTF8 { update(UnsafeRawBufferPointer($0)) }
            }
            feed(url)
            feed(variant)
            feed(partition)
        }
        hash = Hash(high: digest.high, low: digest.low)
    }

    /// The key of a variant of this original.
    public func variant(_ identifier: String) -> CacheKey {
        CacheKey(url: url, variant: identifier, partition: partition)
    }

    /// SHA-256 of no credentials at all.
    private static let noCredentials = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    /// Where an answer is kept that its server calls private although nothing secret was sent: a key of its own, with
    /// the hash of no credentials. nil where the key has a partition already.
    package var ofPrivateAnswer: CacheKey? {
        partition == nil ? CacheKey(url: url, variant: variant, partition: Self.noCredentials) : nil
    }

    /// What was asked for: the reverse of ``ofPrivateAnswer``.
    package var asked: CacheKey {
        partition == Self.noCredentials ? CacheKey(url: url, variant: variant) : self
    }

    /// Where the entry lies below the cache directory: `ab/cdef…`.
    public var file: String {
        String(unsafeUninitializedCapacity: 33) { buffer in
            for index in 0..<32 { buffer[index < 2 ? index : index + 1] = hash.digit(index) }
            buffer[2] = UInt8(ascii: "/")
            return 33
        }
    }

    /// Feeds a part of ``hash``, which is a hash already.
    public func hash(into hasher: inout Hasher) { hasher.combine(hash.high) }
}

extension CacheKey.Hash {
    /// Exactly 32 lower-case hex digits; nil for anything else.
    package init?(hex: some StringProtocol) {
        guard hex.utf8.count == 32 else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        for (index, byte) in hex.utf8.enumerated() {
            let digit: UInt8
            switch byte {
            case 0x30...0x39: digit = byte - 0x30
            case 0x61...0x66: digit = byte - 0x61 + 10
            default: return nil
            }
            if index < 16 { words.0 = words.0 << 4 | UInt64(digit) } else { words.1 = words.1 << 4 | UInt64(digit) }
        }
        self.init(high: words.0, low: words.1)
    }
}
