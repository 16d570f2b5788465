import Foundation
import Larder

/// What was wrong with a request, as RFC 9457 writes it: the body of every answer that is an error.
package struct Problem: Error, Sendable, Hashable {
    package var status: Int
    /// A stable name in snake case.
    package var code: String
    /// For people: what is wrong and what to do.
    package var detail: String
    /// Fields beside the body.
    package var fields: HTTPFields

    package init(_ status: Int, _ code: String, _ detail: String, fields: HTTPFields = .init()) {
        self.status = status
        self.code = code
        self.detail = detail
        self.fields = fields
    }

    package static func badRequest(_ detail: String) -> Problem { Problem(400, "bad_request", detail) }
    package static func notFound(_ detail: String) -> Problem { Problem(404, "not_found", detail) }

    package static func unauthorized(_ detail: String) -> Problem {
        Problem(401, "unauthorized", detail, fields: ["WWW-Authenticate": "Bearer realm=\"larder\""])
    }

    package static func methodNotAllowed(_ method: Request.Method, allowed: String) -> Problem {
        Problem(
            405, "method_not_allowed", "\(method.name.prefix(20)) is not possible here.", fields: ["Allow": allowed])
    }

    package static func busy(_ detail: String, retryAfter seconds: Int) -> Problem {
        Problem(503, "busy", detail, fields: ["Retry-After": "\(seconds)"])
    }

    package var answer: Answer {
        var fields: HTTPFields = [
            "Content-Type": "application/problem+json", "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        ]
        fields.fields += self.fields.fields
        return Answer(status, fields: fields, body: .bytes(json), code: code)
    }

    var json: [UInt8] {
        struct Body: Encodable {
            var type: String
            var title: String
            var status: Int
            var code: String
            var detail: String
        }
        let body = Body(type: "about:blank", title: Self.title(status), status: status, code: code, detail: detail)
        return JSONAnswer.encode(body)
    }

    /// The reason phrase of a status (RFC 9110 §15).
    package static func title(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 204: "No Content"
        case 206: "Partial Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 410: "Gone"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 500: "Internal Server Error"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        default: "Error"
        }
    }
}

extension Problem {
    /// What a failure of the engine means to a client of the server.
    package init(_ error: ImageError) {
        let status =
            switch error {
            case .invalidURL: 400
            case .refused(let refusal, _): refusal == .busy ? 503 : 403
            case .unreachable, .timedOut, .httpStatus, .truncated, .hashMismatch: error.gatewayStatus
            case .notAnImage, .unsupportedFormat, .corrupt: 422
            case .tooLarge: 413
            case .cacheUnavailable, .cancelled: 503
            case .notCached: 404
            }
        var fields = HTTPFields()
        if status == 503 { fields["Retry-After"] = "\(max(1, Int(min(error.details.retryAfter ?? 1, 3600))))" }
        self.init(status, error.code, error.message(in: .english), fields: fields)
    }
}

extension ImageError {
    /// What a gateway answers where it has nothing to serve because of its origin: 504 where it was cut off from it or
    /// waited too long (RFC 9110 §15.6.5; RFC 9111 §5.2.2.2), 502 where the origin's answer is of no use (§15.6.3).
    var gatewayStatus: Int {
        switch self {
        case .timedOut: 504
        case .unreachable(let details): details.isMalformed ? 502 : 504
        default: 502
        }
    }
}
