/// Decodes, scales and encodes on threads of its own: bounded in number and in the memory that decodes hold
/// together, the most urgent first.
package final class DecodeQueue: Sendable {
    private let executor: BlockingExecutor
    /// Thread and memory are given together: who waits for the one holds nothing of the other.
    private let gate: Gate

    /// Work that waits for a thread or for memory, for metrics and tests.
    package var waiting: Int { gate.waiting }

    /// - Parameters:
    ///   - maxDecodes: threads.
    ///   - maxBytes: what all decodes together may hold; one may always run.
    package init(maxDecodes: Int, maxBytes: Int) {
        executor = BlockingExecutor(name: "larder-decode", width: maxDecodes)
        // Counted in KiB: a gate lets one piece of work through whatever its cost.
        gate = Gate(capacity: max(1, maxBytes >> 10), places: maxDecodes)
    }

    /// Runs `body` when its turn has come; its flag is raised when the caller is cancelled.
    ///
    /// - Parameters:
    ///   - header: says what the decode will hold; nil where nothing is known.
    ///   - bytes: what it holds beside, such as the image's file.
    package func run<Success: Sendable>(
        header: ImageHeader?, bytes: Int = 0, priority: SharedPriority,
        _ body: @escaping @Sendable (AbortFlag) throws(ImageError) -> Success
    ) async throws(ImageError) -> Success {
        let (sum, overflow) = (header.map(Self.kibibytes) ?? 1).addingReportingOverflow(bytes >> 10)
        let cost = overflow ? .max : sum
        let abort = AbortFlag()
        return try await gate.run(cost: cost, priority: priority) { () throws(ImageError) in
            let result: Result<Success, ImageError> = await withTaskCancellationHandler {
                do throws(ImageError) {
                    return .success(try await executor.run { () throws(ImageError) in try body(abort) })
                } catch {
                    return .failure(error)
                }
            } onCancel: {
                abort.abort()
            }
            return try result.get()
        }
    }

    /// Roughly what a decode holds: the pixels, the coefficients of a JPEG that is not decoded row by row, and what a
    /// filter weighs each row and column with.
    private static func kibibytes(_ header: ImageHeader) -> Int {
        let pixels = header.width.multipliedReportingOverflow(by: header.height)
        guard !pixels.overflow, pixels.partialValue < 1 << 40 else { return .max }
        let weights = (min(header.width, 1 << 40) + min(header.height, 1 << 40)) * 24
        return (pixels.partialValue * (header.isProgressive ? 10 : 4) + weights) >> 10
    }
}
