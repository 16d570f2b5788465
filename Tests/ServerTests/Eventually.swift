import Larder

/// Looks until a condition holds, which it does soon; throws where it never does.
func eventually(_ what: String, _ condition: () async throws -> Bool) async throws {
    struct Never: Error { var what: String }
    let end = ContinuousClock.now + .seconds(100)
    while try await !condition() {
        guard ContinuousClock.now < end else { throw Never(what: what) }
        await Task.yield()
    }
}
