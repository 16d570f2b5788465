import Foundation

/// One connection of an ``Origin``, served on its own thread: requests in, replies out, until one side ends it.
struct OriginConnection {
    let fd: Int32
    let number: Int
    let address: String
    let core: OriginCore

    func serve() {
        var input: [UInt8] = []
        while let request = read(&input) {
            for step in core.answer(request).steps {
                guard run(step) else { return }
            }
        }
    }

    /// False where the connection has ended.
    private func run(_ step: OriginReply.Step) -> Bool {
        switch step {
        case .send(let bytes): return send(bytes)
        case .wait(let gate):
            core.pass(gate)
            return true
        case .pause(let milliseconds):
            usleep(milliseconds * 1000)
            return true
        case .hold:
            while !clientHasGone(within: -1) {}
            return false
        case .forever(let bytes, let pause):
            while send(bytes) {
                if pause > 0, clientHasGone(within: pause) { break }
            }
            return false
        case .reset:
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
            return false
        case .close:
            // What the client sent and nobody read would turn the close into a reset.
            shutdown(fd, Int32(SHUT_WR))
            var rest = [UInt8](repeating: 0, count: 4096)
            while recv(fd, &rest, rest.count, Int32(MSG_DONTWAIT)) > 0 {}
            return false
        }
    }

    private func send(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var offset = 0
            while offset < buffer.count {
                let count = Glibc.send(
                    fd, buffer.baseAddress! + offset, buffer.count - offset, Int32(MSG_NOSIGNAL))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                offset += count
            }
            return true
        }
    }

    /// Reads and drops what comes until nothing comes for so many milliseconds (-1: for ever).
    private func clientHasGone(within milliseconds: Int32) -> Bool {
        var event = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
        guard poll(&event, 1, milliseconds) > 0 else { return false }
        var drop = [UInt8](repeating: 0, count: 4096)
        return recv(fd, &drop, drop.count, 0) <= 0
    }

    // MARK: - Requests

    private func read(_ input: inout [UInt8]) -> OriginRequest? {
        var end = input.endOfHeaders
        while end == nil {
            guard receive(&input) else { return nil }
            end = input.endOfHeaders
        }
        let lines = String(decoding: input[..<end!], as: UTF8.self).components(separatedBy: "\r\n")
        input.removeFirst(end!)
        let words = lines[0].split(separator: " ")
        let fields = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            return (line[..<colon].lowercased(), value)
        }
        let length = fields.first { $0.name == "content-length" }.flatMap { Int($0.value) } ?? 0
        while input.count < length {
            guard receive(&input) else { return nil }
        }
        let body = Array(input.prefix(length))
        input.removeFirst(length)
        return OriginRequest(
            method: words.first.map(String.init) ?? "", target: words.dropFirst().first.map(String.init) ?? "",
            fields: fields, body: body, connection: number, address: address)
    }

    private func receive(_ input: inout [UInt8]) -> Bool {
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        var count = recv(fd, &chunk, chunk.count, 0)
        while count < 0, errno == EINTR { count = recv(fd, &chunk, chunk.count, 0) }
        guard count > 0 else { return false }
        input.append(contentsOf: chunk[..<count])
        return true
    }
}

extension [UInt8] {
    /// The index behind the empty line, or nil where it has not come yet.
    fileprivate var endOfHeaders: Int? {
        guard count >= 4 else { return nil }
        for index in 0...(count - 4)
        where self[index] == 13 && self[index + 1] == 10 && self[index + 2] == 13 && self[index + 3] == 10 {
            return index + 4
        }
        return nil
    }
}
