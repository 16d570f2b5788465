import Foundation
import FoundationNetworking

extension ImageError {
    /// What an error of URLSession means for a transfer that had, or had not, a response's head.
    init(urlSession error: any Error, hasHead: Bool, received: Int64, declared: Int64?) {
        let code = (error as? URLError)?.code ?? .unknown
        let text = (error as NSError).localizedDescription
        let detail = "\(text) (URLError \(code.rawValue))"
        switch code {
        case .cancelled: self = .cancelled(.init(detail))
        case .timedOut: self = .timedOut(hasHead ? .idle : .connect, .init(detail))
        case .badURL,
            .unsupportedURL where !text.contains("HTTP/0.9"):
            self = .invalidURL(.init(detail))
        case _ where text.contains("certificate") || text.contains("SSL") || text.contains("TLS"):
            // Nobody's second try mends a certificate.
            self = .unreachable(.init(detail, isTransient: false))
        case _ where hasHead && (declared.map { received < $0 } ?? true) && !text.contains("hunk"):
            self = .truncated(.init("\(detail) after \(received) bytes"))
        default: self = .unreachable(.init(detail))
        }
    }
}
