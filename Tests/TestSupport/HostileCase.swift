import Foundation
import Larder

/// One way in which a server, or what stands before it, can be hostile or broken, and what must come of it.
///
/// The table of them is ``HostileCase/all``; it runs over every transport, and over the engine above them.
public struct HostileCase: Sendable, CustomStringConvertible {
    /// What must come of it.
    public enum Outcome: Sendable, Equatable {
        /// The image, whole.
        case image
        /// A failure with this `ImageError` code.
        case failure(String)
    }

    public var name: String
    public var outcome: Outcome
    /// Where a transport differs, by its name.
    public var exceptions: [String: Outcome] = [:]
    /// It ends a process that uses URLSession of Swift 6.3: only to be run in a process of its own there.
    public var endsURLSession = false
    /// Sets up what `/image` answers.
    public var prepare: @Sendable (Origin) -> Void

    public init(
        _ name: String, _ outcome: Outcome, exceptions: [String: Outcome] = [:], endsURLSession: Bool = false,
        _ prepare: @escaping @Sendable (Origin) -> Void
    ) {
        self.name = name
        self.outcome = outcome
        self.exceptions = exceptions
        self.endsURLSession = endsURLSession
        self.prepare = prepare
    }

    public var description: String { name }

    public func outcome(over transport: String) -> Outcome { exceptions[transport] ?? outcome }

    /// A whole PNG of 1 x 1 pixels.
    public static let image: [UInt8] = [
        0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 0x0D, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1, 0, 0, 0, 1,
        8, 6, 0, 0, 0, 0x1F, 0x15, 0xC4, 0x89, 0, 0, 0, 0x0B, 0x49, 0x44, 0x41, 0x54, 0x78, 0xDA, 0x63, 0x60, 0, 2, 0,
        0, 5, 0, 1, 0xE9, 0xFA, 0xDC, 0xD8, 0, 0, 0, 0, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82,
    ]

    /// What the cases take for the most that an image may have, in bytes.
    public static let maxBytes = 1 << 20
    /// Short where it must end at a deadline, and far away elsewhere.
    public func deadlines(over transport: String) -> Deadlines {
        outcome(over: transport) == .failure("timed_out")
            ? Deadlines(connect: 5, idle: 0.4, total: 0.8) : Deadlines(connect: 60, idle: 60, total: 60)
    }
}

extension OriginReply {
    /// A head as text, a line each, without the empty line; then a body; then the end of the connection.
    static func lines(_ lines: String..., body: [UInt8] = HostileCase.image) -> OriginReply {
        .raw(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
    }
}
