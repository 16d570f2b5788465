import CCrypto

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
