// swift-tools-version:6.2
import PackageDescription

let package = Package(
    name: "list-manifest",
    dependencies: [.package(name: "larder", path: "../..")],
    targets: [
        .executableTarget(
            name: "ListManifest", dependencies: [.product(name: "Larder", package: "larder")],
            swiftSettings: [.treatAllWarnings(as: .error)])
    ],
    swiftLanguageModes: [.v6]
)
