import Larder

/// One line of the list: what it is called, and which image it shows.
struct BrowseRow: Sendable {
    var title: String
    /// nil for a row without a usable URL; `problem` says why.
    var request: ImageRequest?
    var problem: String?
    /// Name and value, for the details.
    var facts: [(name: String, value: String)] = []
}
