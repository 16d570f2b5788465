// swift-tools-version:6.2
import PackageDescription

// One executable a bench. `Measuring` is what they share. Only public API of the library is used; a file that must
// be the library's own without being public (an eviction policy) is a symbolic link to it.
let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let package = Package(
    name: "memory-tier-benchmarks",
    dependencies: [.package(name: "larder", path: "../..")],
    targets: [
        .target(name: "Measuring", swiftSettings: strict),
        .executableTarget(name: "MemoryPolicies", dependencies: ["Measuring"], swiftSettings: strict),
        .executableTarget(
            name: "MemoryHits", dependencies: ["Measuring", .product(name: "Larder", package: "larder")],
            swiftSettings: strict),
        .executableTarget(
            name: "Placeholders", dependencies: ["Measuring", .product(name: "Larder", package: "larder")],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
