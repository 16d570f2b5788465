import CCrypto
import Larder

/// A token or key that is compared in constant time and never printed.
package struct Secret: Sendable, CustomStringConvertible, CustomReflectable {
    package let bytes: [UInt8]
    private let digest: [UInt8]

    /// - Returns: nil where nothing but white space is left: an empty secret protects nothing.
    package init?(_ text: String) {
        let trimmed = text.drop(while: \.isWhitespace)
        let end = trimmed.lastIndex { !$0.isWhitespace }
        guard let end else { return nil }
        bytes = Array(trimmed[...end].utf8)
        digest = SHA256.digest(bytes)
    }

    /// Whether the candidate is the secret. Takes the same time whatever differs, length included.
    package func matches(_ candidate: String) -> Bool {
        constantTimeEqual(SHA256.digest(Array(candidate.utf8)), digest)
    }

    package var description: String { "Secret(…)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Compares without telling by its time where the first difference is. Lengths are no secret.
package func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
}

/// HMAC (RFC 2104) by libcrypto.
package enum HMAC {
    package enum Hash { case sha1, sha256 }

    package static func code(_ hash: Hash, key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            var length: UInt32 = 0
            let algorithm = hash == .sha1 ? EVP_sha1() : EVP_sha256()
            // Neither can fail for these algorithms; an empty code would match nothing.
            _ = CCrypto.HMAC(
                algorithm, key, Int32(clamping: key.count), message, message.count, buffer.baseAddress, &length)
            count = Int(length)
        }
    }
}
