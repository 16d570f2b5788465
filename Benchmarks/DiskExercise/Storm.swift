import Foundation
import Larder

/// Kills workers with SIGKILL at random moments, then checks that nothing but whole entries is left, that they are
/// counted right, and that every one is byte-equal to its origin.
struct Storm {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() -> Never {
        let kills = arguments.number("kills", 200)
        let processes = arguments.number("processes", 4)
        let keys = arguments.number("keys", 500)
        let bytes = arguments.number("bytes", 4 << 20)
        var random = Random(state: UInt64(arguments.number("seed", 7)) | 1)
        var seed = 0
        func start() -> Child {
            seed += 1
            return Child([
                "work", "--directory", arguments.directory, "--seed", "\(seed)", "--keys", "\(keys)",
                "--bytes", "\(bytes)",
            ])
        }
        var children = (0..<processes).map { _ in start() }
        for _ in 0..<kills {
            usleep(UInt32(2000 + random.below(60_000)))
            let index = random.below(children.count)
            children[index].kill()
            let status = children[index].wait()
            if status != -SIGKILL { fail("a worker ended by itself with \(status)") }
            children[index] = start()
        }
        for child in children { child.kill() }
        for child in children { _ = child.wait() }
        Checker(arguments, keys: keys, bytes: bytes).check("after \(kills) kills")
        exit(0)
    }
}

func fail(_ text: String) -> Never {
    say("WRONG: \(text)")
    exit(1)
}

/// Looks at what is left.
struct Checker {
    let arguments: Arguments
    let keys: Int
    let bytes: Int

    init(_ arguments: Arguments, keys: Int, bytes: Int) {
        self.arguments = arguments
        self.keys = keys
        self.bytes = bytes
    }

    func check(_ when: String) {
        do {
            var configuration = Work.configuration(arguments)
            configuration.maximumBytes = Int64(bytes)
            let tier = try DiskTier(directory: arguments.directory, configuration: configuration)
            // A sum that was written in part is marked, and counted anew; one that is not marked holds.
            let wrong = try tier.recount().wrongFolders
            guard wrong == 0 else { fail("\(when): \(wrong) folders were counted wrong") }
            // The thread of the index removes what the dead left before it does anything else.
            tier.flush()
            let found = tier.verify(repair: false) { _ in
                true
            } found: {
                say("\($0.file): \($0.problem)")
            }
            guard found.isSound else { fail("\(when): \(found)") }
            let images = OriginImages(largest: arguments.number("body", 60_000))
            var hits = 0
            for number in 0..<keys {
                guard let entry = tier.entry(for: images.key(number)) else { continue }
                guard try entry.payload() == images.body(number) else { fail("\(when): image \(number) differs") }
                hits += 1
            }
            guard hits == found.whole else { fail("\(when): \(found.whole) entries but \(hits) hits") }
            tier.reconcile()
            guard try tier.count() == hits else { fail("\(when): the index knows \(try tier.count()) of \(hits)") }
            let limit = tier.configuration.maximumBytes
            guard let total = tier.usage, total.bytes <= limit else { fail("\(when): over the limit") }
            say("\(when): \(hits) entries, \(total.bytes) bytes of \(limit), all whole and equal to their origin")
        } catch {
            fail("\(when): \(error)")
        }
    }
}
