import Foundation
import Larder

/// Signs paths as thumbor does: HMAC-SHA1 of the path behind the signature, URL-safe Base64 with padding.
package struct URLSigner: Sendable {
    private let key: Secret

    package init(key: Secret) { self.key = key }

    package func signature(of path: String) -> String {
        Data(HMAC.code(.sha1, key: key.bytes, Array(path.utf8))).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_")
    }

    /// Compared in constant time.
    package func verifies(_ signature: String, of path: String) -> Bool {
        constantTimeEqual(Array(signature.utf8), Array(self.signature(of: path).utf8))
    }

    /// Whether a path's first part has the form of a signature: 27 characters of URL-safe Base64 and a `=`, which may
    /// be percent-encoded.
    package static func isSignature(_ part: some StringProtocol) -> Bool {
        let bytes = part.utf8
        guard bytes.count == 28 && part.hasSuffix("=") || bytes.count == 30 && part.uppercased().hasSuffix("%3D") else {
            return false
        }
        return bytes.prefix(27).allSatisfy {
            switch $0 {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "_"): true
            default: false
            }
        }
    }
}
