import Larder
import LarderPrefetch
import LarderWorkers

extension Command {
    static let verify = Command(
        name: "verify", summary: "reads and checks everything in a cache directory",
        examples: [
            ("larder verify", "every entry, from its first byte to its last"),
            ("larder verify --repair", "and set aside what is damaged, remove what was left behind"),
        ],
        options: [
            .flag("repair", "set damaged entries aside, remove leftovers, count anew", common: true),
            UpkeepSession.progress,
        ],
        details: [
            "Safe while others use the directory. What is found stands on standard output, a line each; with `--json` "
                + "each is an object with `file`, `problem` and `repaired`, and the last line is the summary.",
            "Exit status 0: nothing but whole entries, or with `--repair` nothing else any more; 1: something else "
                + "was found. Damaged entries go to `quarantine/` and are fetched again when they are asked for.",
        ],
        run: { arguments, console in try await VerifyCommand(arguments, console).run() })
}

/// `larder verify`.
struct VerifyCommand: Sendable {
    private let arguments: Arguments
    private let console: Console
    private let repairs: Bool

    init(_ arguments: Arguments, _ console: Console) throws(UsageError) {
        self.arguments = arguments
        self.console = console
        repairs = try arguments.flag("repair")
    }

    func run() async throws -> ExitStatus {
        let session = try UpkeepSession(arguments, console)
        let (found, reading) = try await session.run("checked") { [repairs, console] tier, report in
            var broken: Console.OutputFailure?
            let found = tier.verify(repair: repairs) { progress in
                report(progress) && broken == nil
            } found: { finding in
                guard broken == nil else { return }
                let text = session.isJSON ? Self.json(finding) : Array((Self.text(finding) + "\n").utf8)
                do throws(Console.OutputFailure) { try console.out(text) } catch { broken = error }
            }
            return (found, broken)
        }
        await session.close()
        if let reading { throw reading }
        if session.isJSON {
            try console.out(Self.json(found))
        } else if !session.isQuiet {
            try console.print(Self.text(found, repaired: repairs))
        }
        let isWell = repairs ? found.isComplete && found.unreadable == 0 : found.isSound
        return session.status(isWell ? .success : .someFailed)
    }

    private static func text(_ finding: CacheVerification.Finding) -> String {
        "\(finding.file.harmless): \(finding.problem)" + (finding.isRepaired ? " (repaired)" : "")
    }

    private static func text(_ found: CacheVerification, repaired: Bool) -> String {
        var parts = ["\(UpkeepText.entries(found.whole)) whole, \(UpkeepText.bytes(found.bytes))"]
        func add(_ count: Int, _ text: String) { if count > 0 { parts.append("\(Amount.count(count)) \(text)") } }
        add(found.damaged, repaired ? "damaged, set aside" : "damaged")
        add(found.unreadable, "unreadable")
        add(found.unknownVersion, "of a newer version")
        add(found.leftovers, repaired ? "left behind, removed" : "left behind")
        add(found.wrongCounts, "folders counted wrong, now right")
        add(found.foreign, "files that are not ours")
        if !found.isComplete { parts.append("not everything was checked") }
        return parts.joined(separator: "; ")
    }

    private static func json(_ finding: CacheVerification.Finding) -> [UInt8] {
        var line = JSONWriter()
        line.raw("{")
        line.member("file", finding.file)
        line.member("problem", finding.problem)
        line.member("repaired", finding.isRepaired)
        line.raw("}\n")
        return line.bytes
    }

    private static func json(_ found: CacheVerification) -> [UInt8] {
        var line = JSONWriter()
        line.raw("{")
        line.member("whole", found.whole)
        line.member("bytes", Int(clamping: found.bytes))
        line.member("damaged", found.damaged)
        line.member("unreadable", found.unreadable)
        line.member("unknown_version", found.unknownVersion)
        line.member("leftovers", found.leftovers)
        line.member("wrong_counts", found.wrongCounts)
        line.member("foreign", found.foreign)
        line.member("complete", found.isComplete)
        line.raw("}\n")
        return line.bytes
    }
}
