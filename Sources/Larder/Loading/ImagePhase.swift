/// Where one image stands: the three cases of SwiftUI's AsyncImagePhase.
///
/// Progress, placeholders and previews travel beside the phase, never in it. `Sendable`; a value never changes.
public enum ImagePhase: Sendable {
    /// Nothing is there yet.
    case empty
    /// The image is there.
    case success(LoadedImage)
    /// It could not be had; the error says why and whether another try can help.
    case failure(ImageError)

    /// Whether it is `.empty`.
    public var isEmpty: Bool {
        if case .empty = self { true } else { false }
    }

    /// The image, where there is one.
    public var image: LoadedImage? {
        if case .success(let image) = self { image } else { nil }
    }

    /// The error, where there is one.
    public var error: ImageError? {
        if case .failure(let error) = self { error } else { nil }
    }

    /// The name of the case as reports write it: `empty`, `success`, `failure`.
    public var name: String {
        switch self {
        case .empty: "empty"
        case .success: "success"
        case .failure: "failure"
        }
    }
}
