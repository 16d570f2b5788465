import CImageCodecs

/// Makes thumbnails: decodes once, at the smallest scale that all sizes allow, and scales while rows come, so that
/// memory does not grow with the image (but for progressive JPEG and interlaced PNG). Blocking.
public enum Thumbnailer {
    /// How much larger than the thumbnail libjpeg's scaled picture must be: its own scaling is rougher than our filter.
    static let reserve = 2

    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - header: what ``HeaderParser`` found, or nil to have it found here.
    ///   - sizes: each gives one thumbnail, in the same order.
    ///   - output: how thumbnails are encoded.
    ///   - limits: what the image may cost.
    ///   - abort: ends the work from another thread.
    /// - Returns: upright thumbnails; the orientation is applied, metadata other than a fitting ICC profile is dropped.
    /// - Throws: as ``ImageDecoder/decode(_:header:limits:fitting:abort:)``.
    public static func make(
        _ bytes: UnsafeRawBufferPointer, header: ImageHeader? = nil, sizes: [ThumbnailSize],
        output: ThumbnailOutput = ThumbnailOutput(), limits: ImageLimits = ImageLimits(), abort: AbortFlag? = nil
    ) throws(ImageError) -> [Thumbnail] {
        try make(
            bytes, header: header, orders: sizes.map { Order(size: $0, output: output) }, limits: limits, abort: abort)
    }

    /// One of several thumbnails that are made from one decode.
    package struct Order: Sendable, Hashable {
        package var size: ThumbnailSize
        package var output: ThumbnailOutput

        package init(size: ThumbnailSize, output: ThumbnailOutput) {
            self.size = size
            self.output = output
        }
    }

    /// The same, each size with an output of its own.
    package static func make(
        _ bytes: UnsafeRawBufferPointer, header: ImageHeader? = nil, orders: [Order],
        limits: ImageLimits = ImageLimits(), abort: AbortFlag? = nil
    ) throws(ImageError) -> [Thumbnail] {
        for case let format? in orders.map(\.output.format) where format != .jpeg && format != .png {
            throw .unsupportedFormat(.init("thumbnails are JPEG or PNG, not \(format.rawValue)"))
        }
        let header: ImageHeader =
            if let header { header } else { try ImageDecoder.header(of: bytes, limits: limits) }
        guard !orders.isEmpty else { return [] }
        let plans = orders.map { plan($0.size, header) }
        for plan in plans { try limits.check(width: plan.window.width, height: plan.window.height) }

        let codec = try ImageDecoder.open(bytes, header, limits: limits, abort: abort)
        try codec.start(request(plans, header))
        var budget = limits.maxDecodeBytes - codec.need
        let resamplers = try plans.map { (plan) throws(ImageError) in
            try Resampler(
                width: codec.width, height: codec.height, extent: codec.extent, channels: codec.channels,
                hasAlpha: header.hasAlpha, plan: plan, budget: &budget)
        }
        try codec.readStrips { pixels, stride, rows in
            for resampler in resamplers { resampler.push(pixels, stride: stride, rows: rows) }
        }

        let icc = codec.icc(for: codec.channels == 1 ? "GRAY" : "RGB ")
        var thumbnails: [Thumbnail] = []
        for (order, resampler) in zip(orders, resamplers) {
            let (size, output) = (order.size, order.output)
            let raster = resampler.output.oriented(header.orientation)
            let isTranslucent = header.hasAlpha && raster.isTranslucent
            let format = output.format ?? (isTranslucent ? .png : .jpeg)
            let encoded = try ImageEncoder.encode(
                raster, format: format, quality: output.quality, hasAlpha: isTranslucent, icc: icc)
            thumbnails.append(
                Thumbnail(
                    size: size, width: raster.width, height: raster.height, format: format, bytes: encoded,
                    bitmap: try raster.bitmap(hasAlpha: isTranslucent, icc: codec.channels == 1 ? [] : icc)))
        }
        return thumbnails
    }

    /// By how much libjpeg reduces the picture for that size: 1, 2, 4 or 8; 0 where it takes care of the chroma. Other
    /// formats are decoded in one way only. Thumbnails of one reduction are the same to the byte whether they share a
    /// decode or not.
    package static func reduction(for size: ThumbnailSize, header: ImageHeader) -> Int {
        guard header.format == .jpeg else { return 1 }
        let request = request([plan(size, header)], header)
        guard request.fast else { return 0 }
        let sides = [(header.width, Int(request.min_width)), (header.height, Int(request.min_height))]
        return [8, 4, 2].first { by in
            sides.allSatisfy { source, least in source / by + (source % by == 0 ? 0 : 1) >= least }
        } ?? 1
    }

    /// How many pixels the thumbnail has.
    package static func pixels(of size: ThumbnailSize, header: ImageHeader) -> Int {
        let window = plan(size, header).window
        let (pixels, overflow) = window.width.multipliedReportingOverflow(by: window.height)
        return overflow ? .max : pixels
    }

    /// In the stored orientation.
    private static func plan(_ size: ThumbnailSize, _ header: ImageHeader) -> ThumbnailSize.Plan {
        let plan = size.plan(width: header.displayWidth, height: header.displayHeight)
        return plan.stored(header.orientation)
    }

    private static func request(_ plans: [ThumbnailSize.Plan], _ header: ImageHeader) -> larder_request {
        let width = plans.map { $0.scaled.width * reserve }.max() ?? 0
        let height = plans.map { $0.scaled.height * reserve }.max() ?? 0
        // Chroma that is shrunk by two or more needs no careful enlarging first.
        let isFast = header.width >= width && header.height >= height
        return larder_request(
            min_width: UInt32(clamping: width), min_height: UInt32(clamping: height), gray: true, whole: false,
            fast: isFast)
    }
}

extension ThumbnailSize.Plan {
    /// The same part of the picture as it is stored.
    fileprivate func stored(_ orientation: Orientation) -> Self {
        var plan = self
        if orientation.swapsAxes {
            plan.scaled = .init(width: scaled.height, height: scaled.width)
            plan.window = .init(width: window.height, height: window.width)
            (plan.left, plan.top) = (top, left)
        }
        // Where an axis runs backwards, what is cut off before the window is counted from its other end.
        switch orientation {
        case .upMirrored, .down, .rightMirrored, .left: plan.left = plan.scaled.width - plan.window.width - plan.left
        case .up, .downMirrored, .leftMirrored, .right: break
        }
        switch orientation {
        case .downMirrored, .down, .rightMirrored, .right: plan.top = plan.scaled.height - plan.window.height - plan.top
        case .up, .upMirrored, .leftMirrored, .left: break
        }
        return plan
    }
}
