import Larder

/// Which thumbnails strangers may have made and kept, so that nobody fills the directory by asking for every size.
///
/// Whoever holds the token or the key may have any. Others get the sizes of `--allow-sizes`; where none are named, any
/// size is made, but only the first kinds that are asked for are kept.
package final class VariantAllowance: Sendable {
    package enum Verdict: Sendable, Hashable {
        case keep
        /// Made, sent, forgotten.
        case sendOnly
        case refuse
    }

    private let sizes: Set<String>?
    private let maxKinds: Int
    private let kinds = Lock<Set<String>>([])

    /// - Parameters:
    ///   - sizes: `256x256`, `256x`, `x256`; nil for any.
    ///   - maxKinds: kinds (size, fit, format and quality) that are kept.
    package init(sizes: Set<String>? = nil, maxKinds: Int = 64) {
        self.sizes = sizes
        self.maxKinds = max(1, maxKinds)
    }

    /// The sizes in order of their area, for messages.
    package var sizeList: String { (sizes ?? []).sorted { ($0.count, $0) < ($1.count, $1) }.joined(separator: ", ") }

    package func verdict(_ transformation: Transformation, kind: String, isTrusted: Bool) -> Verdict {
        if isTrusted { return .keep }
        if let sizes, !sizes.contains(transformation.sizeText) { return .refuse }
        return kinds.withLock { kinds in
            if kinds.contains(kind) { return .keep }
            guard kinds.count < maxKinds else { return .sendOnly }
            kinds.insert(kind)
            return .keep
        }
    }
}
