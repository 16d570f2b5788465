import Foundation
import Larder

StandardStreams.open()
// A closed pipe is an answer of write(2), not the end of the process.
signal(SIGPIPE, SIG_IGN)
exit(await Program.run(Array(CommandLine.arguments.dropFirst()), .system()).rawValue)
