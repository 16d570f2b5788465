import Larder
import LarderPrefetch

extension Command {
    static let clear = Command(
        name: "clear", summary: "removes everything from a cache directory, or what is stored of some URLs",
        operands: "[URL...]",
        examples: [
            ("larder clear https://example.com/a.jpg", "one image and its thumbnails"),
            ("larder clear", "everything"),
        ],
        options: [UpkeepSession.progress],
        details: [
            "Remembered failures and the beginnings of cut transfers go too, and without a URL also what was set "
                + "aside as damaged. The directory stays a cache directory, and files in it that are not larder's stay. "
                + "Safe while others use it: what they read they read to its end."
        ],
        run: { arguments, console in try await ClearCommand(arguments, console).run() })
}

/// `larder clear`.
struct ClearCommand: Sendable {
    private let arguments: Arguments
    private let console: Console
    private let targets: [Target]

    private struct Target: Sendable {
        let name: String
        /// As it was given and normalised: a key of the caller's may be no URL.
        let keys: [String]

        init(_ text: String) {
            name = text
            let url = (try? NormalizedURL(text))?.string
            keys = url == text ? [text] : [text, url].compactMap { $0 }
        }
    }

    init(_ arguments: Arguments, _ console: Console) throws(UsageError) {
        self.arguments = arguments
        self.console = console
        targets = arguments.operands.map(Target.init)
    }

    func run() async throws -> ExitStatus {
        let session = try UpkeepSession(arguments, console)
        if !targets.isEmpty {
            guard try await session.waitForIndex() else { return session.status(.success) }
        }
        let (before, gone, after) = try await session.run("removed") {
            [targets, console] (tier, report) throws(ImageError) in
            let before = tier.usage
            var gone = 0
            if targets.isEmpty { gone = try tier.clear(progress: report) }
            for target in targets {
                let count = try tier.clear(urls: target.keys)
                if count == 0, !session.isQuiet { console.say("nothing was stored of \(target.name)") }
                gone += count
                guard report(.init(done: gone, total: nil, bytes: 0)) else { break }
            }
            return (before, gone, tier.usage)
        }
        await session.close()
        try Removed(entries: gone, freed: (before?.bytes ?? 0) - (after?.bytes ?? 0), left: after)
            .say(session, console)
        return session.status(.success)
    }
}
