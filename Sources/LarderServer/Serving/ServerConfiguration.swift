import Larder

/// How a server behaves. Nothing here is secret.
package struct ServerConfiguration: Sendable {
    /// Names that the Host field may carry beside addresses, `localhost` and this machine's name.
    package var serverNames: [String] = []
    /// `256x256`, `256x`, `x256`; nil for any.
    package var allowedSizes: Set<String>?
    /// Threads that make thumbnails and check entries.
    package var workers = 2
    /// How much may wait for one of them.
    package var queue = 256
    /// Images being fetched for clients at once.
    package var maxFetches = 512
    package var limits = ImageLimits()
    /// The formats that this build writes.
    package var encoders: [ImageFormat] = [.jpeg, .png]

    package init() {}
}
