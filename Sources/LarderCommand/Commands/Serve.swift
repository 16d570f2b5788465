import Foundation
import Larder
import LarderServer
import LarderWorkers

extension Command {
    static let serve = Command(
        name: "serve", summary: "serves a cache directory over HTTP: gallery, images, thumbnails, an API",
        operands: "[DIR]",
        examples: [
            ("larder serve", "the gallery of ./cache at http://127.0.0.1:8080/"),
            ("larder serve ~/images --port 0", "another directory, on a port that is free"),
            ("larder serve --fetch --allow-host '*.example.com'", "what is missing is fetched from there"),
            ("larder serve --host 0.0.0.0 --token-file token --key-file key", "for other machines"),
        ],
        options: [
            .value("host", "ADDRESS", "where to listen", default: "127.0.0.1", common: true),
            .value("port", "N", "on which port; 0 for one that is free", default: "8080", common: true),
            .value(
                "token-file", "FILE", "the token that clients must send; LARDER_TOKEN holds it as well", common: true,
                completion: .file),
            .value(
                "key-file", "FILE", "the key that thumbor's paths are signed with; LARDER_KEY holds it as well",
                common: true, completion: .file),
            .flag("fetch", "fetch what is missing or stale; wants --allow-host or --public-only", common: true),
            .value("server-name", "NAME", "a host name that this server answers to", repeatable: true),
            .value("allow-sizes", "LIST", "the only thumbnail sizes for clients without token, as 256x256,x128"),
            .value("access-log", "FILE|-", "a line of JSON for each request", completion: .file),
            .value("threads", "N", "that serve connections; the number of processors by default"),
            .value("workers", "N", "that make thumbnails; the number of processors by default"),
            .value("queue", "N", "of work that may wait for them before clients get 503", default: "256"),
            .value("max-connections", "N", "open at once", default: "16000"),
            .value("drain-time", "S", "for requests in hand when the server is stopped", default: "10"),
            .value("fetch-workers", "N", "processes that fetch; none with --transport curl", default: "2"),
        ] + LoadingOptions.table,
        details: [
            "Without a token and a key everything in the directory is open to every user of this machine. On any other "
                + "address than loopback one of them is demanded: with a token, programs send 'Authorization: Bearer "
                + "TOKEN' and browsers log in; with a key, images are given by signed paths.",
            "SIGTERM and SIGINT let requests in hand come to their end; SIGHUP reads token and key anew and reopens "
                + "the access log. Sockets that systemd hands over are used in place of --host and --port.",
        ]
    ) { arguments, console in
        try await ServeCommand(arguments, console).run()
    }
}

private struct ServeCommand {
    let arguments: Arguments
    let console: Console

    let loading: LoadingOptions

    init(_ arguments: Arguments, _ console: Console) throws {
        self.arguments = arguments
        self.console = console
        loading = try LoadingOptions(arguments)
    }

    func run() async throws -> ExitStatus {
        let fetches = try arguments.flag("fetch")
        guard arguments.operands.count <= 1 else { throw UsageError("serve takes one directory") }
        if loading.policy == .reload {
            throw UsageError(
                "serve has no --refresh: each answer would wait for the image's server",
                hint: "larder prefetch --refresh fetches a list anew while this serves.")
        }
        let access = try keys()
        let configuration = try serverConfiguration()
        let daemon = try daemonConfiguration()
        let drainTime = try arguments.duration("drain-time") ?? 10
        let manager = ServiceManager(environment: console.environment)
        let sockets = try listen(manager)
        do throws(StartRules.Refusal) {
            try StartRules(
                isReachable: sockets.contains { !$0.isLoopback }, hasToken: access.token != nil,
                hasKey: access.signer != nil, fetches: fetches,
                hasAllowedHosts: !loading.connection.hosts.allowed.isEmpty,
                isPublicOnly: loading.connection.addresses == .publicOnly,
                transportChecksAddresses: loading.connection.transport == "curl"
            ).check()
        } catch {
            throw UsageError(error.message, hint: error.hint)
        }
        let log = try arguments.string("access-log").map { path in
            do throws(ImageError) { return try AccessLog(path: path) } catch {
                throw CommandFailure(error.details.detail)
            }
        }
        let directory = try arguments.operands.first ?? arguments.string("cache") ?? "./cache"
        let network = fetches ? try Network(arguments, loading, console, directory) : nil
        let tier = try network?.tier ?? open(directory)
        let server = ImageServer(
            tier: tier, access: access, configuration: configuration, readThrough: network?.readThrough, accessLog: log)
        let service = Service(
            server: server, sockets: sockets, daemon: daemon, manager: manager, drainTime: drainTime
        ) { [console] in
            log?.reopen()
            do { server.reload(try keys()) } catch {
                console.fail("the keys stay as they were: \((error as? CommandFailure)?.message ?? "\(error)")")
            }
        }
        if try !arguments.flag("quiet") {
            for socket in sockets { console.say("serving \(directory) at http://\(socket.address)/") }
        }
        let signal = try await failing { () async throws(ImageError) in try await service.run() }
        await network?.workers?.stop()
        await log?.flush()
        tier.flush()
        tier.close()
        // To be told to stop is how a server ends well.
        return signal == SIGTERM ? .success : .interrupted
    }

    private func keys() throws -> AccessControl {
        AccessControl(
            token: try secret("token-file", "LARDER_TOKEN"),
            signer: try secret("key-file", "LARDER_KEY").map { URLSigner(key: $0) })
    }

    private func secret(_ option: String, _ variable: String) throws -> Secret? {
        if let path = try arguments.string(option) {
            guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
                throw CommandFailure("cannot read \(path)", hint: "--\(option) wants a text file.")
            }
            guard let secret = Secret(text) else { throw CommandFailure("\(path) is empty: it protects nothing") }
            return secret
        }
        guard let text = console.environment[variable] else { return nil }
        guard let secret = Secret(text) else { throw CommandFailure("\(variable) is empty: it protects nothing") }
        return secret
    }

    private func serverConfiguration() throws -> ServerConfiguration {
        var configuration = ServerConfiguration()
        configuration.serverNames = try arguments.strings("server-name")
        configuration.workers =
            try arguments.integer("workers", in: 1...256) ?? ProcessInfo.processInfo.activeProcessorCount
        configuration.queue = try arguments.integer("queue", in: 0...100_000) ?? configuration.queue
        configuration.limits = loading.connection.limits
        if let list = try arguments.string("allow-sizes") {
            configuration.allowedSizes = Set(
                try list.split(separator: ",").map { text in
                    guard let size = ThumbnailSize(text.trimmingCharacters(in: .whitespaces)), size.rule == .both else {
                        throw UsageError(
                            "--allow-sizes cannot be '\(list)'", hint: "It wants sizes such as 256x256,x128.")
                    }
                    return size.description
                })
        }
        return configuration
    }

    private func daemonConfiguration() throws -> HTTPDaemon.Configuration {
        var configuration = HTTPDaemon.Configuration()
        configuration.threads = try arguments.integer("threads", in: 1...256) ?? configuration.threads
        configuration.maxConnections =
            try arguments.integer("max-connections", in: 16...1_000_000) ?? configuration.maxConnections
        return configuration
    }

    private func listen(_ manager: ServiceManager) throws -> [ListenSocket] {
        let handed = manager.listenDescriptors.compactMap { ListenSocket(descriptor: $0) }
        guard handed.isEmpty else { return handed }
        let host = try arguments.string("host") ?? "127.0.0.1"
        let port = try arguments.integer("port", in: 0...65_535) ?? 8080
        do throws(ImageError) { return [try ListenSocket.bind(host: host, port: port)] } catch {
            throw CommandFailure(error.details.detail)
        }
    }

    private func open(_ directory: String) throws -> DiskTier {
        var configuration = DiskTierConfiguration()
        configuration.creates = false
        if let bytes = loading.maxCacheBytes { configuration.maximumBytes = Int64(bytes) }
        if let age = loading.maxCacheAge { configuration.maximumAge = Int64(age) }
        configuration.warnings = { [console] in console.say($0) }
        do throws(ImageError) { return try DiskTier(directory: directory, configuration: configuration) } catch {
            throw CommandFailure(error.details.detail)
        }
    }

    private func failing<Success>(_ body: () async throws(ImageError) -> Success) async throws -> Success {
        do throws(ImageError) { return try await body() } catch { throw CommandFailure(error.details.detail) }
    }
}

/// What `--fetch` needs: a way to the network, and the directory that it commits to.
private struct Network {
    let tier: DiskTier
    let readThrough: any ReadThrough
    let workers: WorkerRunner?

    init(_ arguments: Arguments, _ loading: LoadingOptions, _ console: Console, _ directory: String) throws {
        let loader = try LoaderSetup.loader(arguments, loading, console, directory: directory)
        guard let tier = loader.disk else { throw CommandFailure("the cache directory cannot be used") }
        self.tier = tier
        guard loading.connection.transport != "curl" else {
            workers = nil
            readThrough = try FetcherReadThrough(fetcher: loader.fetcher, limits: loading.connection.limits) {
                $0.policy = loading.policy
                $0.fields = loading.connection.fields
                $0.maxBytes = loading.connection.maxBytes
                $0.deadlines = loading.connection.deadlines
            }
            return
        }
        // URLSession may end its process: rows run in others (Documentation/decisions/urlsession-faults.md).
        var configuration = LoaderRunner.Configuration()
        configuration.fields = loading.connection.fields
        configuration.policy = loading.policy
        let shared = Set((LoadingOptions.table + CommonOptions.all).map { "--" + $0.name })
        let given = try arguments.words.filter { shared.contains(String($0.prefix { $0 != "=" })) }
        let count = try arguments.integer("fetch-workers", in: 1...64) ?? 2
        let words = loading.share(of: given, amongWorkers: count)
        let runner = WorkerRunner(
            LoaderRunner(loader, configuration: configuration),
            pool: WorkerCommand.pool(
                words.filter { !$0.hasPrefix("--cache=") } + ["--cache=" + directory], count: count, credits: 8,
                deadlines: loading.connection.deadlines))
        workers = runner
        readThrough = RowReadThrough(
            runner: runner, tier: tier, limits: .init(total: count * 8, perHost: 6),
            fields: loading.connection.fields)
    }
}
