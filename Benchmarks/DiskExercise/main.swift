// Exercises the disk tier with real processes: a storm of kills, a crowd on one directory, a million entries, and
// the cost of hits and commits. Run by Benchmarks/disk-tier.sh and by the tests.
import Foundation

let arguments = Arguments(CommandLine.arguments.dropFirst())
switch arguments.mode {
case "work": Work(arguments).run()
case "hold": Hold(arguments).run()
case "storm": Storm(arguments).run()
case "crowd": Crowd(arguments).run()
case "fill": Fill(arguments).run()
case "bench": Bench(arguments).run()
default:
    say(
        """
        usage: DiskExercise MODE --directory DIR [--OPTION NUMBER]...
          work   stores, reads and removes until killed      --seed --keys --bytes --count --seconds --body
          hold   holds the lock of a key until killed        --key
          storm  kills such workers at random moments        --kills --processes --keys --bytes
          crowd  lets such workers share a limit             --processes --seconds --keys --bytes
          fill   makes that many small entries               --count --from --old
          bench  measures opening, hits and commits          --count --rounds --size --opening --hits --room --commits
        """)
    exit(2)
}

/// At once, also into a pipe.
func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

struct Arguments {
    let mode: String
    private var values: [String: String] = [:]

    init(_ arguments: some Sequence<String>) {
        var rest = Array(arguments)
        mode = rest.isEmpty ? "" : rest.removeFirst()
        while rest.count >= 2 {
            values[String(rest[0].drop { $0 == "-" })] = rest[1]
            rest.removeFirst(2)
        }
    }

    var directory: String { values["directory"] ?? "" }
    func number(_ name: String, _ usual: Int) -> Int { values[name].flatMap { Int($0) } ?? usual }
}
