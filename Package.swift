// swift-tools-version:6.2
import PackageDescription

let strictC: [CSetting] = [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)]
let strict: [SwiftSetting] = [
    // Asynchronous functions stay where their caller is: see Documentation/decisions/executors.md.
    .treatAllWarnings(as: .error), .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "larder",
    products: [
        .library(name: "Larder", targets: ["Larder"]),
        .executable(name: "larder", targets: ["LarderCommand"]),
    ],
    traits: [
        .trait(name: "Curl", description: "CurlTransport: fetch through libcurl in this process.")
    ],
    targets: [
        // The command line: one file a command.
        .executableTarget(
            name: "LarderCommand", dependencies: ["Larder", "LarderPrefetch", "LarderServer", "LarderWorkers"],
            swiftSettings: strict),

        // What stands on the engine.
        .target(
            name: "LarderServer", dependencies: ["Larder", "LarderWorkers", "CMicroHTTPD", "CCrypto"],
            resources: [
                .embedInCode("Gallery/gallery.html"), .embedInCode("Gallery/gallery.css"),
                .embedInCode("Gallery/gallery.js"),
            ], swiftSettings: strict),
        .target(name: "LarderPrefetch", dependencies: ["Larder", "LarderWorkers", "CZlib"], swiftSettings: strict),
        .target(name: "LarderWorkers", dependencies: ["Larder", "CPlatform"], swiftSettings: strict),

        // The engine.
        .target(
            name: "Larder",
            dependencies: [
                "CImageCodecs", "CPlatform", "CSQLite", "CCrypto", "CXXHash",
                .target(name: "CCurl", condition: .when(traits: ["Curl"])),
                .target(name: "CCurlShim", condition: .when(traits: ["Curl"])),
            ], swiftSettings: strict),

        // C of our own: small, and no jump or callback of a library leaves it.
        .target(name: "CImageCodecs", dependencies: ["CPNG", "CJPEG"], cSettings: strictC),
        .target(name: "CPlatform", cSettings: strictC),
        .target(name: "CCurlShim", dependencies: ["CCurl"], cSettings: strictC),

        // System libraries: a module map each.
        .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
        .systemLibrary(name: "CJPEG", pkgConfig: "libjpeg", providers: [.apt(["libjpeg62-turbo-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),

        // Tests, beside the code's structure.
        .target(name: "TestSupport", dependencies: ["Larder", "CZlib"], path: "Tests/TestSupport"),
        .testTarget(name: "ConcurrencyTests", dependencies: ["Larder", "TestSupport"]),
        .testTarget(name: "ErrorsTests", dependencies: ["Larder", "TestSupport"]),
        .testTarget(name: "ImageTests", dependencies: ["Larder", "CImageCodecs", "TestSupport"]),
        .testTarget(name: "HTTPTests", dependencies: ["Larder", "TestSupport"]),
        .executableTarget(name: "DiskExercise", dependencies: ["Larder"], path: "Benchmarks/DiskExercise"),
        .testTarget(name: "TiersTests", dependencies: ["Larder", "CSQLite", "DiskExercise", "TestSupport"]),
        .testTarget(name: "LoadingTests", dependencies: ["Larder", "TestSupport"]),
        .testTarget(name: "PrefetchTests", dependencies: ["LarderPrefetch", "TestSupport"]),
        .executableTarget(
            name: "ScriptedWorker", dependencies: ["LarderWorkers"], path: "Tests/ScriptedWorker"),
        .testTarget(name: "WorkersTests", dependencies: ["LarderWorkers", "ScriptedWorker", "TestSupport"]),
        .testTarget(name: "ServerTests", dependencies: ["LarderServer", "TestSupport"]),
        .testTarget(name: "CommandTests", dependencies: ["LarderCommand", "TestSupport"]),
    ],
    swiftLanguageModes: [.v6]
)

// A part of the tests, for builds that take long: LARDER_ROOMS="HTTPTests LoadingTests" (Tests/Scripts/sanitize.sh).
if let rooms = Context.environment["LARDER_ROOMS"] {
    let wanted = Set(rooms.split(separator: " ").map(String.init))
    package.targets.removeAll { $0.isTest && !wanted.contains($0.name) }
}
