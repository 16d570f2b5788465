import CCrypto
import Glibc

/// SHA-256 (FIPS 180-4) by libcrypto, fed piece by piece. Not for use from two threads at once.
package struct SHA256: ~Copyable {
    private let context: OpaquePointer

    package init() {
        context = EVP_MD_CTX_new()
        EVP_DigestInit_ex(context, Self.algorithm, nil)
    }

    deinit { EVP_MD_CTX_free(context) }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
        EVP_DigestUpdate(context, base, bytes.count)
    }

    /// The 32 bytes. Nothing may be fed after it.
    package mutating func finalize() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            EVP_DigestFinal_ex(context, buffer.baseAddress, nil)
            count = 32
        }
    }

    /// The digest of one piece.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var digest = SHA256()
        bytes.withUnsafeBytes { digest.update($0) }
        return digest.finalize()
    }

    /// The first 16 bytes, as two big-endian numbers, of the digest of the pieces that `feed` gives to `update`: for what
    /// is short and hashed often, without an allocation.
    static func beginning(_ feed: (_ update: (UnsafeRawBufferPointer) -> Void) -> Void) -> (high: UInt64, low: UInt64) {
        let context = threadContext
        EVP_DigestInit_ex(context, algorithm, nil)
        feed { bytes in
            if let base = bytes.baseAddress, !bytes.isEmpty { EVP_DigestUpdate(context, base, bytes.count) }
        }
        return withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { digest in
            EVP_DigestFinal_ex(context, digest.baseAddress?.assumingMemoryBound(to: UInt8.self), nil)
            return (
                UInt64(bigEndian: digest.load(as: UInt64.self)),
                UInt64(bigEndian: digest.load(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    /// One for each thread, freed with it.
    private static var threadContext: OpaquePointer {
        if let context = contexts.pointer { return OpaquePointer(context) }
        let context = EVP_MD_CTX_new()
        contexts.pointer = context.map { UnsafeMutableRawPointer($0) }
        return context!
    }

    private static let contexts = ThreadSlot { EVP_MD_CTX_free($0.map { OpaquePointer($0) }) }

    // Fetched once: looking an algorithm up costs more in OpenSSL 3 than hashing a short key.
    private nonisolated(unsafe) static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)
}

extension Sequence<UInt8> {
    /// Lower-case hex digits.
    package var hex: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension [UInt8] {
    /// The bytes that hex digits stand for; nil where the text is anything else.
    package init?(hex text: some StringProtocol) {
        func value(_ digit: UInt8) -> UInt8? {
            switch digit {
            case 0x30...0x39: digit - 0x30
            case 0x41...0x46, 0x61...0x66: (digit | 0x20) - 0x57
            default: nil
            }
        }
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        self = []
        reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
            append(high << 4 | low)
        }
    }
}
