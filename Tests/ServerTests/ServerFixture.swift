import Foundation
import Larder
import TestSupport

@testable import LarderServer

/// A cache directory of its own with what a test puts in, and a server over it.
final class ServerFixture: @unchecked Sendable {
    // Sendable: nothing changes after `init`.
    let time: any TimeSource
    let tier: DiskTier
    let directory: URL

    init(time: any TimeSource = ManualTime()) throws {
        self.time = time
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("larder-serve-\(UUID().uuidString)")
        tier = try DiskTier(directory: directory.path, time: time)
    }

    deinit {
        tier.close()
        try? FileManager.default.removeItem(at: directory)
    }

    func server(
        access: AccessControl = .init(), readThrough: (any ReadThrough)? = nil,
        configure: (inout ServerConfiguration) -> Void = { _ in }
    ) -> ImageServer {
        var configuration = ServerConfiguration()
        configure(&configuration)
        return ImageServer(
            tier: tier, access: access, configuration: configuration, readThrough: readThrough, time: time)
    }

    /// Stores bytes under a URL, fresh for an hour.
    @discardableResult
    func store(
        _ url: String, _ bytes: [UInt8], header: ImageHeader? = nil, freshFor seconds: Int64 = 3600,
        isPrivate: Bool = false, partition: String? = nil
    ) throws -> StoredEntry {
        let key = CacheKey(url: url, partition: partition)
        let writer = try tier.begin(key)
        try bytes.withUnsafeBytes { try writer.append($0) }
        return try writer.commit(
            EntryMetadata(
                key: key, finalURL: url, requestTime: time.now, responseTime: time.now,
                freshness: StoredFreshness(freshUntil: time.now.adding(seconds: seconds)), isPrivate: isPrivate,
                header: header ?? ImageHeader(format: .png, width: 1, height: 1)))
    }

    /// A picture that can be decoded: `width` × `height` pixels in a colour.
    func storePicture(_ url: String, width: Int = 64, height: Int = 32) throws -> StoredEntry {
        let bitmap = try Bitmap(width: width, height: height, hasAlpha: false) { pixels, _ in
            for index in pixels.indices { pixels[index] = index % 4 == 0 ? 200 : index % 4 == 3 ? 255 : 80 }
        }
        let bytes = try ImageEncoder.png(bitmap)
        return try store(url, bytes, header: ImageHeader(format: .png, width: width, height: height))
    }
}

extension ImageServer {
    /// The answer to a request, waited for.
    func answer(
        _ target: String, _ method: Request.Method = .get, _ fields: HTTPFields = .init()
    ) async -> Answer {
        var all: HTTPFields = ["Host": "localhost"]
        all.fields += fields.fields
        switch respond(to: Request(method, target, fields: all)) {
        case .now(let answer): return answer
        case .later(let work): return await work()
        }
    }
}

extension Answer {
    /// The bytes of the body.
    var bytes: [UInt8] {
        switch body {
        case .bytes(let bytes): return bytes
        case .entry(let entry, let offset, let length):
            return (try? entry.payload()).map { Array($0[offset..<offset + length]) } ?? []
        }
    }
    var text: String { String(decoding: bytes, as: UTF8.self) }
}
