// swift-tools-version:6.2
import PackageDescription

let package = Package(
    name: "transports",
    dependencies: [.package(name: "larder", path: "../..", traits: ["Curl"])],
    targets: [
        .executableTarget(name: "TransportBench", dependencies: [.product(name: "Larder", package: "larder")]),
        .executableTarget(name: "URLSessionBench", dependencies: [.product(name: "Larder", package: "larder")]),
    ],
    swiftLanguageModes: [.v6]
)
