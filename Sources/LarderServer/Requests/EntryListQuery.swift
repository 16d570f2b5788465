/// What `/api/entries` is asked for.
package struct EntryListQuery: Sendable, Hashable {
    package enum Order: String, Sendable, Hashable, CaseIterable {
        case stored, used, size, url
    }

    package enum State: String, Sendable, Hashable, CaseIterable {
        case any, fresh, stale, failed
    }

    package var offset = 0
    package var limit = 100
    package var order = Order.stored
    package var isDescending = true
    /// Text that the URL must contain; empty for every one.
    package var search = ""
    /// Only this format.
    package var format: String?
    package var state = State.any

    package static let maxLimit = 1000

    package init() {}

    /// `offset`, `limit`, `sort` (a leading `-` turns it round), `q`, `format`, `state`.
    package init(_ parameters: [(name: String, value: String)]) throws(Problem) {
        for (name, value) in parameters {
            switch name {
            case "offset":
                guard let number = Transformation.number(value) else { throw Self.wrong(name, value, "a whole number") }
                offset = number
            case "limit":
                guard let number = Transformation.number(value), (1...Self.maxLimit).contains(number) else {
                    throw Self.wrong(name, value, "a whole number from 1 to \(Self.maxLimit)")
                }
                limit = number
            case "sort":
                let key = value.hasPrefix("-") ? String(value.dropFirst()) : value
                guard let known = Order(rawValue: key) else {
                    throw Self.wrong(name, value, "one of \(Order.allCases.map(\.rawValue).joined(separator: ", "))")
                }
                order = known
                isDescending = value.hasPrefix("-")
            case "q": search = value
            case "format": format = value.isEmpty ? nil : value == "jpg" ? "jpeg" : value
            case "state":
                guard let known = State(rawValue: value) else {
                    throw Self.wrong(name, value, "one of \(State.allCases.map(\.rawValue).joined(separator: ", "))")
                }
                state = known
            default:
                throw .badRequest(
                    "There is no parameter '\(name.prefix(80))'. Known are offset, limit, sort, q, format, state.")
            }
        }
    }

    private static func wrong(_ name: String, _ value: String, _ wanted: String) -> Problem {
        .badRequest("\(name)=\(value.prefix(80)) is not \(wanted).")
    }
}
