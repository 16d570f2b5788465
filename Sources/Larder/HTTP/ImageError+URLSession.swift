import Foundation
import FoundationNetworking

extension ImageError {
    private static let lastingTLSFaults = ["certificate", "protocol version", "unsupported protocol", "wrong version"]

    /// What an error of URLSession means for a transfer that had, or had not, a response's head.
    init(urlSession error: any Error, hasHead: Bool, received: Int64, declared: Int64?) {
        let code = (error as? URLError)?.code ?? .unknown
        let text = (error as NSError).localizedDescription
        let detail = "\(text) (URLError \(code.rawValue))"
        switch code {
        case .cancelled: self = .cancelled(.init(detail))
        case .timedOut: self = .timedOut(hasHead ? .idle : .connect, .init(detail))
        case .badURL: self = .invalidURL(.init(detail))
        // The scheme is http or https: it is the answer that is in another protocol.
        case .unsupportedURL: self = .malformed(detail, isTransient: false)
        // Nobody's second try mends a certificate.
        case _ where Self.lastingTLSFaults.contains { text.contains($0) }:
            self = .unreachable(.init(detail, isTransient: false))
        // Beyond libcurl's own limits: 300 KiB of header fields, 100 KiB for one of them.
        case _ where text.contains("Too large response headers") || !hasHead && text.contains("Out of memory"):
            self = .tooLarge(.init(detail))
        case _ where text.contains("content encoding"): self = .unsupportedFormat(.init(detail))
        case _ where hasHead && (declared.map { received < $0 } ?? true):
            self = .truncated(.init("\(detail) after \(received) bytes"))
        default: self = .unreachable(.init(detail))
        }
    }
}
