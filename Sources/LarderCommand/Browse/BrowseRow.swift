import Foundation

/// One line of the list: what it is called, and which image it shows. Kept small: a list may have a million.
struct BrowseRow: Sendable {
    /// Where a row comes from.
    enum Origin: Sendable {
        case manifest(number: Int, id: String?)
        case cache(bytes: Int, file: String)
    }

    var title: String
    var address: String
    /// Why it has no usable address, as far as the manifest tells.
    var flaw: String?
    var origin: Origin

    /// nil for a row without a usable address; `problem` says why.
    var url: URL? { flaw == nil ? URL(string: address) : nil }
    var problem: String? { flaw ?? (url == nil ? "this is no URL" : nil) }

    /// Name and value, for the details.
    var facts: [(name: String, value: String)] {
        switch origin {
        case .manifest(let number, let id): [("row", "\(number)")] + (id.map { [("id", $0)] } ?? [])
        case .cache(let bytes, let file): [("bytes", "\(bytes)"), ("entry", file)]
        }
    }
}
