import Larder

#if canImport(LarderServer)
    @testable import LarderServer
#endif

/// Everything that reads what a client wrote, over any bytes: target, router, thumbor's path, ranges, tags, cookies,
/// hosts and header fields. Traps where a promise is broken. The first byte chooses.
///
/// Tests run it over seeded bytes; Tests/Fuzz/server.sh builds it under libFuzzer, without the package.
enum FuzzedRequest {
    static func run(_ bytes: [UInt8]) {
        guard let choice = bytes.first else { return }
        let rest = bytes.dropFirst()
        let text = String(decoding: rest, as: UTF8.self)
        switch choice % 6 {
        case 0:
            guard let target = try? RequestTarget(text) else { return }
            guard target.path.hasPrefix("/") else { fatalError(target.path) }
            _ = try? Router().route(.get, target)
            _ = try? Router(signer: Fixed.signer).route(.get, target)
        case 1:
            let length = Int(rest.first ?? 0) * 7
            if case .part(let offset, let size) = ByteRange.parse(
                String(decoding: rest.dropFirst(), as: UTF8.self), length: length)
            {
                guard offset >= 0, size > 0, offset + size <= length else {
                    fatalError("\(offset) \(size) of \(length)")
                }
            }
        case 2: _ = try? ThumborPath(text, encoders: [.jpeg, .png])
        case 3:
            let fields = HTTPFields([
                .init("If-None-Match", text), .init("If-Modified-Since", text), .init("Range", text),
                .init("If-Range", text), .init("Cookie", text), .init("Authorization", text), .init("Accept", text),
            ])
            _ = Fixed.preconditions.evaluate(fields, now: Fixed.now)
            guard Fixed.access.standing(of: fields, now: Fixed.now) == .anonymous else { fatalError(text) }
            _ = FormatNegotiation(encoders: [.jpeg, .webp]).format(accept: text, hasAlpha: false)
        case 4:
            _ = HostCheck(serverNames: ["a"], machineName: nil).allows(text)
            _ = try? CrossSiteCheck.check(.logout, Request(.post, "/", fields: ["Origin": text]), host: "localhost")
        default:
            let parts = rest.split(separator: 10).map { line in
                let halves = line.split(separator: 58, maxSplits: 1, omittingEmptySubsequences: false)
                return RequestFraming.RawField(Array(halves[0]), halves.count > 1 ? Array(halves[1]) : [])
            }
            if let fields = try? RequestFraming.check(parts, version: "HTTP/1.1", hasCutTarget: false) {
                guard fields["Transfer-Encoding"] == nil, fields.values("Host").count == 1 else {
                    fatalError("\(fields)")
                }
            }
        }
    }

    private enum Fixed {
        static let signer = URLSigner(key: Secret("key")!)
        static let access = AccessControl(token: Secret("a token that no input holds"))
        static let now = Timestamp(milliseconds: 1_768_478_400_000)
        static let preconditions = Preconditions(etag: "\"abc\"", lastModified: now, length: 100)
    }
}
