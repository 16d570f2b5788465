import CZlib
import Larder

/// Decompresses gzip (RFC 1952) on the way, members one behind another included. Used from one thread at a time.
final class GunzipSource: ByteSource, @unchecked Sendable {
    // Sendable: only `read` touches the mutable fields, and its callers take turns (a ManifestReader is not
    // shared); `stop` and `isReady` touch `base` alone, which is Sendable.
    private let base: any ByteSource
    private var input: [UInt8]
    private var position = 0
    private var stream = z_stream()
    private var isOpen = false
    private var output = [UInt8](repeating: 0, count: 64 << 10)

    /// - Parameter head: what was already taken from `base`.
    init(_ base: any ByteSource, head: [UInt8]) {
        self.base = base
        input = head
    }

    deinit { if isOpen { inflateEnd(&stream) } }

    var isReady: Bool { base.isReady }
    func stop() { base.stop() }

    func read(into buffer: inout [UInt8]) throws(ManifestError) {
        while true {
            if position == input.count {
                input.removeAll(keepingCapacity: true)
                position = 0
                try base.read(into: &input)
                if input.isEmpty {
                    guard !isOpen else { throw .malformed("the gzip data are cut short", place: "") }
                    return
                }
            }
            if !isOpen {
                // Zero bytes behind the last member are padding.
                while position < input.count, input[position] == 0 { position += 1 }
                guard position < input.count else { continue }
                // 15 window bits, and 16 more for the gzip wrapper.
                guard inflateInit2_(&stream, 31, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
                    throw .unreadable("no memory for zlib")
                }
                isOpen = true
            }
            if try inflateOnce(into: &buffer) > 0 { return }
        }
    }

    private func inflateOnce(into buffer: inout [UInt8]) throws(ManifestError) -> Int {
        let (status, used, made) = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output -> (Int32, Int, Int) in
                stream.next_in = input.baseAddress! + position
                stream.avail_in = UInt32(clamping: input.count - position)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                let before = Int(stream.avail_in)
                let status = inflate(&stream, Z_NO_FLUSH)
                return (status, before - Int(stream.avail_in), output.count - Int(stream.avail_out))
            }
        }
        position += used
        buffer += output[..<made]
        switch status {
        case Z_STREAM_END:
            inflateEnd(&stream)
            stream = z_stream()
            isOpen = false
        case Z_OK, Z_BUF_ERROR: break
        default: throw .malformed("the gzip data are damaged", place: "")
        }
        return made
    }
}
