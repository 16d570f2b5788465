// A worker that does what its rows tell it: the word behind `"do":` in the line.
import Foundation
import LarderWorkers

/// Ends this process by a signal, which may reach another thread first: nothing is done after it.
func die(_ signal: Int32) -> Never {
    kill(getpid(), signal)
    while true { pause() }
}

if CommandLine.arguments.contains("--silent") { _ = readLine() }
if CommandLine.arguments.contains("--mute") { exit(3) }
if CommandLine.arguments.contains("--foreign") {
    print("hello, this is another program")
    fflush(nil)
    _ = readLine()
    exit(0)
}
guard let channel = WorkerLoop.become(isVerbose: true) else { exit(4) }
let once = CommandLine.arguments.last ?? ""
if CommandLine.arguments.contains("--noisy") { print("(noise on a worker's standard output)") }
await WorkerLoop.run(channel) { setup in
    guard String(decoding: setup, as: UTF8.self) == #"{"setup":true}"# else { return nil }
    return WorkerLoop.Handler { line in
        let text = String(decoding: line, as: UTF8.self)
        let row = WorkerLine.row(of: line) ?? -1
        func answer(_ word: String) -> [UInt8] { Array(#"{"row":\#(row),"answer":"\#(word)"}"#.utf8) }
        if text.contains(#""do":"trap""#) { die(SIGILL) }
        if text.contains(#""do":"kill""#) { die(SIGKILL) }
        if text.contains(#""do":"exit""#) { exit(7) }
        if text.contains(#""do":"stop""#) { die(SIGSTOP) }
        if text.contains(#""do":"trap-once""#), mkdir(once + "/\(row)", 0o700) == 0 { die(SIGILL) }
        if text.contains(#""do":"wait""#) {
            do { try await Task.sleep(for: .seconds(60)) } catch { return answer("cancelled") }
        }
        if text.contains(#""do":"meet""#) {
            // Until another worker has such a row, too.
            mkdir(once + "/\(getpid())", 0o700)
            while (try? FileManager.default.contentsOfDirectory(atPath: once).count) ?? 0 < 2 {
                do { try await Task.sleep(for: .milliseconds(1)) } catch { return answer("cancelled") }
            }
        }
        if text.contains(#""do":"pid""#) { return answer(String(getpid())) }
        return answer("done")
    }
}
