import Foundation
import Larder
import Testing

@testable import LarderServer

/// Holds Documentation/openapi.json against the routes, both ways.
@Suite struct OpenAPITests {
    private static let samples = [
        "{key}": "abcdef0123456789abcdef0123456789", "{file}": "ab/cdef0123456789abcdef0123456789.jpg",
        "{path}": "16x16/http://e.com/a",
    ]
    private let paths: [String: [String: Any]]
    private let signer = URLSigner(key: Secret("key")!)

    init() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let data = try Data(contentsOf: root.appendingPathComponent("Documentation/openapi.json"))
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        paths = try #require(object["paths"] as? [String: [String: Any]])
    }

    private func target(_ template: String) -> String {
        var path = template
        for (name, value) in Self.samples { path = path.replacing(name, with: value) }
        path = path.replacing("{signature}", with: signer.signature(of: Self.samples["{path}"]!))
        return path == "/image" ? path + "?url=http%3A%2F%2Fe.com%2Fa" : path
    }

    private func route(_ method: String, _ template: String) throws(Problem) -> Route {
        let router = Router(signer: template.hasPrefix("/{signature}") ? signer : nil)
        return try router.route(Request.Method(method.uppercased()), RequestTarget(target(template)))
    }

    @Test func whatIsDescribedIsThere() {
        for (template, operations) in paths {
            for method in operations.keys {
                #expect(throws: Never.self, "\(method) \(template)") { try route(method, template) }
            }
        }
    }

    @Test func whatIsThereIsDescribed() {
        var names: Set<String> = []
        for (template, operations) in paths {
            for method in operations.keys {
                if let route = try? route(method, template) { names.insert("\(route.name) \(method)") }
            }
        }
        #expect(
            names == [
                "gallery get", "image get", "thumbnail get", "file get", "entries get", "entries delete", "stats get",
                "health get", "metrics get", "login post",
            ])
    }

    @Test func everyParameterOfTheListsAndImagesIsKnown() throws {
        for (template, operations) in paths {
            let parameters = (operations["get"] as? [String: Any])?["parameters"] as? [[String: Any]] ?? []
            for parameter in parameters where parameter["in"] as? String == "query" {
                let name = try #require(parameter["name"] as? String)
                let schema = parameter["schema"] as? [String: Any] ?? [:]
                let values = schema["enum"] as? [String] ?? (schema["type"] as? String == "string" ? ["a"] : ["1"])
                for value in values where name != "url" {
                    let target = target(template)
                    let query = target + (target.contains("?") ? "&" : "?") + "\(name)=\(value)"
                    #expect(throws: Never.self, "\(query)") { try Router().route(.get, RequestTarget(query)) }
                }
            }
        }
    }
}
