import CCrypto
import CJPEG
import CMicroHTTPD
import CPNG
import CSQLite
import CXXHash
import CZlib
import Larder

/// What `larder --version` says: versions, formats, transports.
enum VersionText {
    static let version = LarderVersion.string

    /// Names and versions of the libraries in this build.
    static var libraries: [(name: String, version: String)] {
        var libraries = [
            ("libpng", PNG_LIBPNG_VER_STRING),
            ("libjpeg", "API \(JPEG_LIB_VERSION)"),
            ("SQLite", String(cString: sqlite3_libversion())),
            ("OpenSSL", String(cString: OpenSSL_version(OPENSSL_VERSION_STRING))),
            ("xxHash", dotted(Int(XXH_versionNumber()))),
            ("zlib", String(cString: zlibVersion())),
            ("libmicrohttpd", String(cString: MHD_get_version())),
        ]
        #if Curl
            // With its TLS library and the versions of HTTP that it speaks.
            let parts = CurlTransport.version.dropFirst("libcurl ".count).split(separator: ", ", maxSplits: 1)
            libraries.append(("libcurl", parts.joined(separator: " (") + (parts.count > 1 ? ")" : "")))
        #endif
        return libraries
    }

    static var transports: [String] {
        var names = ["urlsession"]
        #if Curl
            names.append("curl")
        #endif
        return names
    }

    /// Formats whose pixels are decoded, and those that are checked, kept and served as they are.
    static let decoded: [ImageFormat] = [.jpeg, .png]
    static var kept: [ImageFormat] { ImageFormat.allCases.filter { !decoded.contains($0) } }

    static func text(json: Bool) -> String {
        if json {
            func list(_ names: [String]) -> String { "[" + names.map { "\"\($0)\"" }.joined(separator: ",") + "]" }
            let versions = libraries.map { "\"\($0.name)\":\"\($0.version)\"" }.joined(separator: ",")
            return "{\"version\":\"\(version)\",\"decodes\":\(list(decoded.map(\.rawValue)))"
                + ",\"keeps\":\(list(kept.map(\.rawValue))),\"transports\":\(list(transports)),\"libraries\":{\(versions)}}"
        }
        return """
            larder \(version)
            decodes: \(decoded.map(\.rawValue).joined(separator: " "))
            keeps: \(kept.map(\.rawValue).joined(separator: " "))
            transports: \(transports.joined(separator: " "))
            libraries: \(libraries.map { "\($0.name) \($0.version)" }.joined(separator: ", "))
            """
    }

    /// 801 is 0.8.1: two digits a part.
    private static func dotted(_ number: Int) -> String { "\(number / 10000).\(number / 100 % 100).\(number % 100)" }
}
