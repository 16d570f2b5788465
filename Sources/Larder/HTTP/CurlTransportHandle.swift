#if Curl
    import CCurl
    import CCurlShim
    import Foundation

    /// An easy handle of libcurl, used for one transfer after the other. Of the loop's thread only.
    final class CurlHandle {
        let easy: UnsafeMutableRawPointer
        private let errorBuffer: UnsafeMutablePointer<CChar>
        private var fields: UnsafeMutablePointer<curl_slist>?
        private var body: UnsafeMutableRawBufferPointer?

        init?(_ configuration: CurlTransport.Configuration) {
            let errorBuffer = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
            errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
            let proxy: String? =
                switch configuration.proxy {
                case .environment: nil
                case .none: ""
                case .url(let url): url
                }
            let easy = withOptionalCString(configuration.authorities) { authorities in
                withOptionalCString(proxy) { proxy in
                    var setup = larder_curl_setup(
                        header: onHeader, body: onBody, open_socket: onOpenSocket, prerequest: onPrerequest,
                        buffer_size: CurlHandle.bufferSize, ca_file: authorities, proxy: proxy)
                    return larder_curl_easy_make(&setup, errorBuffer)
                }
            }
            guard let easy else {
                errorBuffer.deallocate()
                return nil
            }
            self.easy = easy
            self.errorBuffer = errorBuffer
        }

        /// Bytes that libcurl reads at once, and holds for each transfer. From 32 to 256 KiB no size is faster.
        private static let bufferSize = 60 << 10

        /// What libcurl says of the last error.
        var message: String { String(cString: errorBuffer) }

        /// The transfer is the context of the callbacks until ``release()``. It stays alive that long: the loop's
        /// list holds it from before the handle is added to the multi handle until after it was removed, and
        /// libcurl calls back only for handles that are added, from calls that the loop's thread makes.
        func prepare(for transfer: CurlTransfer) -> CURLcode {
            let request = transfer.request
            errorBuffer.pointee = 0
            guard append(request) else { return CURLE_OUT_OF_MEMORY }
            let milliseconds = min(max(request.deadlines.connect * 1000, 1), Double(Int32.max))
            if !request.body.isEmpty {
                let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: request.body.count, alignment: 1)
                copy.copyBytes(from: request.body)
                body = copy
            }
            return transfer.url.withCString { url in
                request.method.withCString { method in
                    var options = larder_curl_request(
                        context: Unmanaged.passUnretained(transfer).toOpaque(), url: url, method: method,
                        fields: fields, body: body.flatMap { UnsafeRawPointer($0.baseAddress) },
                        body_length: curl_off_t(request.body.count),
                        connect_milliseconds: milliseconds.isNaN ? 1 : Int(milliseconds),
                        shares_connection: transfer.isSecure ? 1 : 0,
                        is_direct: request.addresses == .any ? 0 : 1)
                    return larder_curl_easy_prepare(easy, &options)
                }
            }
        }

        /// The handle is out of the multi handle: what belonged to the request goes.
        func release() {
            curl_slist_free_all(fields)
            fields = nil
            body?.deallocate()
            body = nil
        }

        func close() {
            curl_easy_cleanup(easy)
            errorBuffer.deallocate()
        }

        // MARK: - Request

        /// Fields that libcurl writes itself, from what it really does.
        private static let own = ["host", "connection", "content-length", "transfer-encoding", "keep-alive", "te"]

        private func append(_ request: TransportRequest) -> Bool {
            var hasCoding = false
            var hasType = false
            for field in request.fields.fields {
                if CurlHandle.own.contains(where: field.name.equalsIgnoringCase) { continue }
                hasCoding = hasCoding || field.name.equalsIgnoringCase("accept-encoding")
                hasType = hasType || field.name.equalsIgnoringCase("content-type")
                guard append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)") else {
                    return false
                }
            }
            if !hasCoding, !append("Accept-Encoding: identity") { return false }
            // libcurl adds these two to a request with a body; without a colon's value they are left out.
            guard !request.body.isEmpty || request.method == "POST" else { return true }
            return append("Expect:") && (hasType || append("Content-Type:"))
        }

        private func append(_ line: String) -> Bool {
            guard let longer = line.withCString({ curl_slist_append(fields, $0) }) else { return false }
            fields = longer
            return true
        }

        /// The URL as libcurl gets it.
        ///
        /// Two parsers read it, Foundation's and libcurl's. They cannot disagree about the host where the part
        /// between `//` and the path has nothing in it but a name or an address and a port.
        static func checkedURL(_ url: URL) throws(ImageError) -> String {
            var text = url.absoluteString
            if let fault = text.withUTF8(fault) { throw fault.mapDetails { $0.url = url.withoutUserInfo } }
            return text
        }

        private static func fault(in text: UnsafeBufferPointer<UInt8>) -> ImageError? {
            let scheme = text.prefix { $0 != 0x3A }
            let name = String(decoding: scheme, as: UTF8.self)
            guard name.equalsIgnoringCase("http") || name.equalsIgnoringCase("https") else {
                return .refused(.scheme, .init("only http and https are fetched"))
            }
            let rest = text[scheme.endIndex...]
            guard rest.starts(with: "://".utf8) else { return .invalidURL(.init("it has no host")) }
            let authority = rest.dropFirst(3).prefix { $0 != 0x2F && $0 != 0x3F && $0 != 0x23 }
            let isLiteral = authority.first == UInt8(ascii: "[")
            let host = isLiteral ? authority.dropFirst().prefix { $0 != 0x5D } : authority.prefix { $0 != 0x3A }
            let tail = authority[host.endIndex...].dropFirst(isLiteral ? 1 : 0)
            let isHost = host.allSatisfy { $0.isHostByte || isLiteral && $0 == 0x3A }
            let isPort = tail.isEmpty || tail.first == 0x3A && tail.dropFirst().allSatisfy { (48...57).contains($0) }
            guard !host.isEmpty, isHost, isPort else { return .invalidURL(.init("its host is malformed")) }
            guard text.allSatisfy({ $0 > 32 && $0 != 127 }) else {
                return .invalidURL(.init("it has white space or control characters"))
            }
            return nil
        }

        /// The socket address inside: not through `pointee`, because a copy would end after the 16 bytes of the declared
        /// type, and an IPv6 address does not.
        static func name(of address: UnsafePointer<curl_sockaddr>) -> UnsafePointer<sockaddr> {
            (UnsafeRawPointer(address) + MemoryLayout<curl_sockaddr>.offset(of: \.addr)!)
                .assumingMemoryBound(to: sockaddr.self)
        }

        /// The address as text, such as `192.0.2.1` or `2001:db8::1`.
        static func text(of address: UnsafePointer<curl_sockaddr>) -> String {
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { buffer in
                let length = socklen_t(address.pointee.addrlen)
                guard let base = buffer.baseAddress,
                    getnameinfo(name(of: address), length, base, socklen_t(NI_MAXHOST), nil, 0, NI_NUMERICHOST) == 0
                else { return "an address of family \(address.pointee.family)" }
                return String(cString: base)
            }
        }
    }

    extension UInt8 {
        fileprivate var isHostByte: Bool {
            switch self {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
            default: false
            }
        }
    }

    private func withOptionalCString<Result>(
        _ text: String?, _ body: (UnsafePointer<CChar>?) -> Result
    ) -> Result {
        guard let text else { return body(nil) }
        return text.withCString { body($0) }
    }

    // MARK: - What libcurl calls, on the loop's thread. The context is a transfer that lives: see `prepare`.
    // Nothing in them traps on what comes from outside: sizes are checked, and no arithmetic is unchecked.

    private func transfer(_ context: UnsafeMutableRawPointer) -> CurlTransfer {
        Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    }

    private let onHeader: curl_write_callback = { bytes, size, count, context in
        let (length, overflow) = size.multipliedReportingOverflow(by: count)
        guard let context, !overflow else { return 0 }
        return transfer(context).receive(header: UnsafeRawBufferPointer(start: bytes, count: length)) ? length : 0
    }

    private let onBody: curl_write_callback = { bytes, size, count, context in
        let (length, overflow) = size.multipliedReportingOverflow(by: count)
        guard let context, !overflow else { return 0 }
        let isTaken = transfer(context).receive(body: UnsafeRawBufferPointer(start: bytes, count: length))
        return isTaken ? length : Int(CURL_WRITEFUNC_PAUSE)
    }

    private let onOpenSocket: curl_opensocket_callback = { context, _, address in
        guard let context, let address else { return CURL_SOCKET_BAD }
        return transfer(context).openSocket(address) ?? CURL_SOCKET_BAD
    }

    private let onPrerequest: curl_prereq_callback = { context, address, _, _, _ in
        guard let context, let address else { return CURL_PREREQFUNC_ABORT }
        return transfer(context).connected(to: String(cString: address)) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
    }
#endif
