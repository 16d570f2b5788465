import Larder

extension Command {
    static let version = Command(
        name: "version", summary: "versions of larder, its libraries and formats",
        run: { arguments, console in
            try console.print(VersionText.text(json: try arguments.flag("json")))
            return .success
        })
}
