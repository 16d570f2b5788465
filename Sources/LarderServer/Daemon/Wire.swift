import CMicroHTTPD
import Glibc
import Larder

/// What libmicrohttpd's structures say, in our terms, and the other way round.
enum Wire {
    static func descriptor(_ connection: OpaquePointer) -> Int32? {
        larder_mhd_connection_info(connection, .CONNECTION_INFO_CONNECTION_FD)?.pointee.connect_fd
    }

    /// The client's address; empty where it has none.
    static func peer(_ connection: OpaquePointer) -> String {
        let info = larder_mhd_connection_info(connection, .CONNECTION_INFO_CLIENT_ADDRESS)
        return info?.pointee.client_addr.map { SocketName(UnsafePointer($0)).host } ?? ""
    }

    /// The header fields as they came.
    static func fields(_ connection: OpaquePointer) -> [RequestFraming.RawField] {
        var fields: [RequestFraming.RawField] = []
        withUnsafeMutablePointer(to: &fields) { pointer in
            _ = MHD_get_connection_values_n(
                connection, .HEADER_KIND,
                { context, _, name, nameLength, value, valueLength in
                    let fields = context?.assumingMemoryBound(to: [RequestFraming.RawField].self)
                    func bytes(_ start: UnsafePointer<CChar>?, _ count: Int) -> [UInt8] {
                        Array(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
                    }
                    fields?.pointee.append(.init(bytes(name, nameLength), bytes(value, valueLength)))
                    return .YES
                }, pointer)
        }
        return fields
    }

    /// An answer ready to be queued: the caller destroys it. nil where memory or descriptors are used up.
    static func response(_ answer: Answer) -> OpaquePointer? {
        guard let response = body(answer.body) else { return nil }
        for field in answer.fields.fields { _ = MHD_add_response_header(response, field.name, field.value) }
        if answer.closes { _ = MHD_add_response_header(response, "Connection", "close") }
        return response
    }

    private static func body(_ body: Answer.Body) -> OpaquePointer? {
        func copied(_ bytes: UnsafeRawBufferPointer) -> OpaquePointer? {
            MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
        }
        switch body {
        case .bytes(let bytes): return bytes.withUnsafeBytes(copied)
        case .entry(let entry, let offset, let length):
            guard length > 0 else { return copied(UnsafeRawBufferPointer(start: nil, count: 0)) }
            guard let descriptor = entry.descriptor else {
                // Held in memory: the directory could not take it.
                guard let bytes = try? entry.payload(), offset + length <= bytes.count else { return nil }
                return bytes.withUnsafeBytes { copied(UnsafeRawBufferPointer(rebasing: $0[offset..<offset + length])) }
            }
            // libmicrohttpd closes what it is given.
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0 else { return nil }
            return MHD_create_response_from_fd_at_offset64(UInt64(length), copy, UInt64(offset))
        }
    }
}
