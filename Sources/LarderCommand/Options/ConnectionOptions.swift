import Foundation
import Larder

/// Options of every command that asks a server, and what was chosen.
struct ConnectionOptions: Sendable {
    static let table: [Option] = [
        .value("connect-timeout", "S", "until a connection stands", default: "10"),
        .value("max-time", "S", "for one image, retries included", default: "60", common: true),
        .value("max-filesize", "BYTES", "refuse larger files", default: "50M"),
        .value("max-pixels", "N", "refuse larger pictures, by their header", default: "100M"),
        .value("header", short: "H", "'NAME: VALUE'", "send this header field", repeatable: true),
        .value("user-agent", short: "A", "NAME", "what to call ourselves"),
        .value(
            "transport", "NAME", "urlsession, or curl where it is built in", default: "urlsession",
            choices: VersionText.transports),
        .value("proxy", "URL", "go through this proxy, as curl's; '' for none; wants --transport curl"),
        .value(
            "cacert", "FILE", "trust these authorities (PEM) in place of the system's; wants --transport curl",
            completion: .file),
        .value("max-redirs", "N", "redirects followed", default: "20"),
        .value("allow-host", "PATTERN", "ask only such hosts: example.com, *.example.com", repeatable: true),
        .value("deny-host", "PATTERN", "never ask such hosts", repeatable: true),
        .flag("public-only", "refuse loopback, private and other addresses that are not public"),
    ]

    var deadlines = Deadlines()
    var maxBytes = 50 << 20
    var limits = ImageLimits()
    var fields = HTTPFields()
    var transport = "urlsession"
    /// Empty for none; nil for what the environment says.
    var proxy: String?
    /// The path of a PEM file; nil for the system's.
    var authorities: String?
    var redirects = RedirectPolicy()
    var hosts = HostPolicy()
    var addresses = AddressPolicy.any

    init(_ arguments: Arguments) throws(UsageError) {
        deadlines.connect = try Self.positive("connect-timeout", arguments) ?? deadlines.connect
        deadlines.total = try Self.positive("max-time", arguments) ?? deadlines.total
        maxBytes = try arguments.bytes("max-filesize") ?? maxBytes
        limits.maxPixels = try arguments.count("max-pixels") ?? limits.maxPixels
        for field in try arguments.strings("header") { try add(field) }
        if let name = try arguments.string("user-agent") {
            try Self.check(name, "--user-agent")
            fields["User-Agent"] = name
        }
        transport = try arguments.string("transport") ?? transport
        redirects.maxHops = try arguments.integer("max-redirs", in: 0...100) ?? redirects.maxHops
        hosts.allowed = try Self.patterns("allow-host", arguments)
        hosts.denied = try Self.patterns("deny-host", arguments)
        if try arguments.flag("public-only") { addresses = .publicOnly }
        proxy = try arguments.string("proxy")
        authorities = try arguments.string("cacert")
        try checkWay()
    }

    /// URLSession takes its proxy from the environment and its authorities from the system, and nothing else.
    private func checkWay() throws(UsageError) {
        if let proxy {
            guard transport == "curl" else {
                throw UsageError(
                    "--proxy needs --transport curl",
                    hint: "Or set http_proxy and https_proxy in the environment: urlsession reads those.")
            }
            guard addresses == .any || proxy.isEmpty else {
                throw UsageError("--proxy and --public-only cannot both be: a proxy looks names up by itself")
            }
            guard proxy.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F }) else {
                throw UsageError(
                    "--proxy cannot be '\(proxy)'", hint: "It wants http://host:port or socks5h://host:port.")
            }
        }
        if let authorities {
            guard transport == "curl" else {
                throw UsageError(
                    "--cacert needs --transport curl", hint: "urlsession trusts the authorities of the system.")
            }
            guard FileManager.default.isReadableFile(atPath: authorities) else {
                throw UsageError("--cacert: the file \(authorities) cannot be read")
            }
        }
    }

    /// A client as was asked for.
    var client: HTTPClient {
        HTTPClient(transport: Transports.make(self), redirects: redirects, hosts: hosts)
    }

    private mutating func add(_ field: String) throws(UsageError) {
        let parts = field.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let tokens = CharacterSet(charactersIn: "!#$%&'*+-.^_`|~").union(.alphanumerics)
        guard parts.count == 2, !parts[0].isEmpty,
            parts[0].unicodeScalars.allSatisfy({ $0.isASCII && tokens.contains($0) })
        else { throw UsageError("--header cannot be '\(field)'", hint: "It wants a name, a colon and a value.") }
        try Self.check(String(parts[1]), "--header")
        fields.append(String(parts[0]), parts[1].trimmingCharacters(in: .whitespaces))
    }

    /// No line break may pass from the command line into a request.
    private static func check(_ value: String, _ name: String) throws(UsageError) {
        guard value.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F || $0 == "\t" }) else {
            throw UsageError("\(name) has a control character in its value")
        }
    }

    private static func positive(_ name: String, _ arguments: Arguments) throws(UsageError) -> Double? {
        guard let value = try arguments.duration(name) else { return nil }
        guard value > 0 else { throw UsageError("--\(name) must be more than 0") }
        return value
    }

    private static func patterns(_ name: String, _ arguments: Arguments) throws(UsageError) -> [HostPolicy.Pattern] {
        var patterns: [HostPolicy.Pattern] = []
        for text in try arguments.strings(name) {
            guard let pattern = HostPolicy.Pattern(text) else {
                throw UsageError(
                    "--\(name) cannot be '\(text)'", hint: "It wants example.com, *.example.com or an address.")
            }
            patterns.append(pattern)
        }
        return patterns
    }
}
