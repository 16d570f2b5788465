import CMicroHTTPD
import Glibc

/// A GET whose header fields say nothing that its answer could depend on: it is told by its target and host alone.
///
/// Looked at where it lies in libmicrohttpd's memory. What is not plain goes the long way, where it is checked in
/// earnest; so this must only never call plain what is not.
struct PlainRequest {
    /// Of the target and the host, seeded for this process.
    let hash: Int
    let target: String
    let host: UnsafeRawBufferPointer

    /// nil for a request that is not plain.
    init?(_ connection: OpaquePointer, target: String, indifferent: [StaticString]) {
        var look = Look(indifferent: indifferent)
        withUnsafeMutablePointer(to: &look) { pointer in
            _ = MHD_get_connection_values_n(
                connection, .HEADER_KIND,
                { context, _, name, nameLength, value, valueLength in
                    guard let look = context?.assumingMemoryBound(to: Look.self), let name else { return .NO }
                    let value = UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueLength)
                    return look.pointee.take(name, nameLength, value) ? .YES : .NO
                }, pointer)
        }
        guard look.isPlain, let host = look.host else { return nil }
        self.target = target
        self.host = host
        var hasher = Hasher()
        hasher.combine(target)
        hasher.combine(bytes: host)
        hash = hasher.finalize()
    }

    private struct Look {
        let indifferent: [StaticString]
        var isPlain = true
        var host: UnsafeRawBufferPointer?

        /// False ends the look.
        mutating func take(_ name: UnsafePointer<CChar>, _ count: Int, _ value: UnsafeRawBufferPointer) -> Bool {
            isPlain = isPlain && value.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
            if count == 4, strncasecmp(name, "host", 4) == 0 {
                isPlain = isPlain && host == nil && !value.isEmpty
                host = value
            } else {
                isPlain = isPlain && isIndifferent(name, count)
            }
            return isPlain
        }

        private func isIndifferent(_ name: UnsafePointer<CChar>, _ count: Int) -> Bool {
            for known in indifferent where known.utf8CodeUnitCount == count {
                let matches = known.utf8Start.withMemoryRebound(to: CChar.self, capacity: count) {
                    strncasecmp(name, $0, count) == 0
                }
                if matches { return true }
            }
            return false
        }
    }
}
