// Lists a manifest (a URL a line) with the phases of its images: swift run ListManifest urls.txt
import Foundation
import Larder

guard CommandLine.arguments.count == 2,
    let text = try? String(contentsOfFile: CommandLine.arguments[1], encoding: .utf8)
else {
    print("usage: ListManifest MANIFEST")
    exit(2)
}
let urls = text.split(whereSeparator: \.isNewline).compactMap { URL(string: String($0)) }
let loader = try ImageLoader()

await withTaskGroup { group in
    for (row, url) in urls.enumerated() {
        group.addTask {
            let request = ImageRequest(url: url, thumbnail: ThumbnailSize("256x256"))
            for await phase in loader.phases(for: request) {
                switch phase {
                case .empty: print("\(row)  …  \(url)")
                case .success(let image): print("\(row)  \(image.bitmap.width)x\(image.bitmap.height)  \(image.source)")
                case .failure(let error): print("\(row)  \(error.message())")
                }
            }
        }
    }
}
