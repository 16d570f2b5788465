import Testing

@testable import Larder

@Suite struct ThumbnailSizeTests {
    @Test func syntax() {
        #expect(ThumbnailSize("256")?.description == "256x256")
        #expect(ThumbnailSize("256x128")?.description == "256x128")
        #expect(ThumbnailSize("256x")?.description == "256x")
        #expect(ThumbnailSize("x128")?.description == "x128")
        #expect(ThumbnailSize("256>")?.rule == .onlyShrink)
        #expect(ThumbnailSize("x64<")?.rule == .onlyEnlarge)
        #expect(ThumbnailSize("300x200!")?.rule == .force)
        for text in [
            "", "x", "0", "-1", "1x2x3", "256 ", "abc", "+5", "256>>", "70000", "99999999999999999999", "1.5", "٣",
        ] {
            #expect(ThumbnailSize(text) == nil, "\(text)")
        }
    }

    @Test(arguments: [
        // As vipsthumbnail gives them.
        ("256", 4000, 3000, 256, 192), ("256", 3000, 4000, 192, 256), ("256x256", 100, 50, 256, 128),
        ("256x256>", 100, 50, 100, 50), ("256x256<", 100, 50, 256, 128), ("256x256<", 4000, 3000, 4000, 3000),
        ("300x200!", 4000, 3000, 300, 200), ("x128", 4000, 3000, 171, 128), ("100x", 4000, 3000, 100, 75),
        ("10", 10000, 10, 10, 1),
    ])
    func targets(text: String, width: Int, height: Int, targetWidth: Int, targetHeight: Int) throws {
        let size = try #require(ThumbnailSize(text))
        let target = size.target(for: ImageHeader(format: .png, width: width, height: height))
        #expect(target == (targetWidth, targetHeight))
        // The upright size counts.
        let lying = ImageHeader(format: .jpeg, width: height, height: width, orientation: .right, hasOrientation: true)
        #expect(size.target(for: lying) == (targetWidth, targetHeight))
    }

    @Test func cropFillsTheBox() throws {
        var size = try #require(ThumbnailSize("100x100"))
        size.crop = true
        let plan = size.plan(width: 400, height: 200)
        #expect(plan.scaled == .init(width: 200, height: 100))
        #expect(plan.window == .init(width: 100, height: 100))
        #expect(plan.left == 50 && plan.top == 0)
        // A picture that may not be enlarged and does not fill the box is cut only where it sticks out.
        var shrink = try #require(ThumbnailSize("100x100>"))
        shrink.crop = true
        #expect(shrink.plan(width: 400, height: 50).window == .init(width: 100, height: 50))
    }
}
