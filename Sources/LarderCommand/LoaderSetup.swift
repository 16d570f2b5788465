import Foundation
import Larder
import LarderWorkers

/// A loader as the options ask for it.
enum LoaderSetup {
    /// - Parameters:
    ///   - parallel: requests under way at once.
    ///   - perHost: to one host.
    ///   - memoryBytes: for pictures that are shown again; what is only fetched needs little.
    ///   - directory: in place of `--cache`.
    ///   - makesDirectory: whether one that is missing is made; where it is not, the loader has none.
    ///   - transfers: at once over URLSession, where who hands out the rows sees to it that few of them bring bytes.
    static func loader(
        _ arguments: Arguments, _ loading: LoadingOptions, _ console: Console, parallel: Int = 16, perHost: Int = 6,
        output: ThumbnailOutput = ThumbnailOutput(), memoryBytes: Int = 16 << 20, directory: String? = nil,
        transfers: Int? = nil, makesDirectory: Bool = true
    ) throws -> ImageLoader {
        let connection = loading.connection
        var configuration = ImageLoader.Configuration()
        configuration.transport = Transports.make(connection, transfers: transfers)
        configuration.redirects = connection.redirects
        configuration.hosts = connection.hosts
        configuration.addresses = connection.addresses
        configuration.deadlines = connection.deadlines
        configuration.limits = connection.limits
        configuration.maxBodyBytes = connection.maxBytes
        configuration.retries.maxRetries = loading.retries
        configuration.retries.baseDelay = loading.retryDelay
        configuration.bytesPerSecond = loading.bytesPerSecond
        configuration.requestsPerSecondPerHost = loading.requestsPerSecond
        configuration.keepsRobots = loading.keepsRobots
        configuration.keepsRobotsTag = loading.keepsRobotsTag
        configuration.maxFetches = parallel
        configuration.maxFetchesPerHost = perHost
        configuration.thumbnailOutput = output
        if let name = connection.fields["User-Agent"] { configuration.userAgent = name }
        if let bytes = loading.maxCacheBytes { configuration.maxDiskBytes = bytes }
        if let age = loading.maxCacheAge { configuration.maxDiskAge = Int(age) }
        configuration.memory.byteLimit = memoryBytes
        let directory = try directory ?? arguments.string("cache") ?? "cache"
        configuration.cacheDirectory =
            makesDirectory || FileManager.default.fileExists(atPath: directory) ? directory : nil
        let isQuiet = try arguments.flag("quiet")
        configuration.onCacheWarning = { if !isQuiet { console.say($0) } }
        do throws(ImageError) { return try ImageLoader(configuration) } catch {
            throw CommandFailure("the cache directory \(directory) cannot be used: \(error.details.detail)")
        }
    }

    /// Refuses a directory that cannot be written, where what is fetched is to be kept in it.
    static func checkThatItKeeps(_ loader: ImageLoader, _ loading: LoadingOptions) throws(CommandFailure) {
        if case .offlineOnly = loading.policy { return }
        guard let disk = loader.disk, let reason = disk.readOnlyReason else { return }
        throw CommandFailure("the cache directory \(disk.path) cannot be written: \(reason)")
    }
}
