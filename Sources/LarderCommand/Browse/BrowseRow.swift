import Larder

/// One line of the list: what it is called, and which image it shows.
struct BrowseRow: Sendable {
    var title: String
    /// nil for a row without a usable URL; `problem` says why.
    var request: ImageRequest?
    var problem: String?
    /// Name and value, for the details.
    var facts: [(name: String, value: String)] = []
    /// The title in lower case, which is looked through with each key of a search.
    private let searchable: [UInt8]

    init(
        title: String, request: ImageRequest? = nil, problem: String? = nil, facts: [(name: String, value: String)] = []
    ) {
        self.title = title
        self.request = request
        self.problem = problem
        self.facts = facts
        searchable = Array(title.lowercased().utf8)
    }

    /// Whether the title has this text, which must be in lower case.
    func contains(_ text: [UInt8]) -> Bool {
        guard let first = text.first, text.count <= searchable.count else { return text.isEmpty }
        return (0...searchable.count - text.count).contains { at in
            searchable[at] == first && searchable[at..<at + text.count].elementsEqual(text)
        }
    }
}
