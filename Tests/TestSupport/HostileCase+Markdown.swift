extension HostileCase {
    /// The table of `Documentation/hostile-web.md`, so that it cannot differ from what is tested.
    public static var markdown: String {
        let rows = all.map { hostile -> String in
            let own = hostile.exceptions["urlsession"].map(\.text) ?? "the same"
            let overURLSession = hostile.endsURLSession ? "**ends the process**" : own
            return "| \(hostile.name) | \(hostile.outcome.text) | \(overURLSession) |"
        }
        return (["| what the server does | what comes of it | over URLSession |", "| --- | --- | --- |"] + rows)
            .joined(separator: "\n") + "\n"
    }
}

extension HostileCase.Outcome {
    fileprivate var text: String {
        switch self {
        case .image: "the image"
        case .failure(let code): "`\(code)`"
        }
    }
}
