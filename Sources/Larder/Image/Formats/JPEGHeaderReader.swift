import CImageCodecs

/// JPEG (ITU-T T.81, annex B): walks the segments up to the first scan and gives those that matter to libjpeg.
struct JPEGHeaderReader: HeaderReader {
    private(set) var position = 0
    /// SOI and the segments that libjpeg needs to tell what the image is.
    private var kept: [UInt8] = []
    private var frame: Frame?
    private var exif: Orientation?
    private var hasExif = false
    private var iccBytes = 0
    private var adobeTransform: Int?

    /// SOFn, read by hand: for early limits, and for what libjpeg refuses.
    private struct Frame {
        var marker: Int
        var precision: Int
        var width: Int
        var height: Int
        var components: [Int]
    }

    mutating func read(_ bytes: ByteWindow, _ limits: ImageLimits) throws(HeaderStop) -> ImageHeader {
        if position == 0 {
            _ = try bytes.slice(0, 2)
            kept = [0xFF, 0xD8]
            position = 2
        }
        while true {
            guard position <= limits.maxMetadataBytes, kept.count <= limits.maxMetadataBytes else {
                throw .failed(.tooLarge(.init("no picture within \(limits.maxMetadataBytes) bytes")))
            }
            let (marker, body) = try nextMarker(bytes)
            switch marker {
            case 0xD8: throw .corrupt("JPEG: two SOI markers")
            case 0xD9: throw .corrupt("JPEG: no picture")
            case 0x01, 0xD0...0xD7:
                position = body
                continue
            default: break
            }
            let length = try bytes.u16(body)
            guard length >= 2 else { throw .corrupt("JPEG: a segment of \(length) bytes") }
            try take(marker, body, length, bytes, limits)
            position = body + length
            if marker == 0xDA { return try header(limits) }
        }
    }

    /// As libjpeg does: anything but 0xFF is skipped, then fill bytes, then a code other than 0.
    private mutating func nextMarker(_ bytes: ByteWindow) throws(HeaderStop) -> (marker: Int, body: Int) {
        while true {
            while try bytes.u8(position) != 0xFF { position += 1 }
            while try bytes.u8(position + 1) == 0xFF { position += 1 }
            let code = try bytes.u8(position + 1)
            if code != 0 { return (code, position + 2) }
            position += 2
        }
    }

    private mutating func take(
        _ marker: Int, _ body: Int, _ length: Int, _ bytes: ByteWindow, _ limits: ImageLimits
    ) throws(HeaderStop) {
        // COM, and APPn that say nothing of the pixels, are passed over without waiting for them.
        if marker == 0xFE || 0xE3...0xED ~= marker || marker == 0xEF { return }
        // Everything is there before anything is noted: this runs again from its start after a stop.
        let segment = try bytes.slice(body + 2, length - 2)
        switch marker {
        case 0xE1:
            if !hasExif, segment.starts(with: Array("Exif\0".utf8)), segment.count > 6 {
                hasExif = true
                exif = Exif.orientation(UnsafeRawBufferPointer(rebasing: segment[6...]))
            }
            return
        case 0xE2:
            guard segment.starts(with: Array("ICC_PROFILE\0".utf8)), segment.count > 14 else { return }
            iccBytes += segment.count - 14
        case 0xEE:
            if segment.count >= 12, segment.starts(with: Array("Adobe".utf8)) { adobeTransform = Int(segment[11]) }
        case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF: try takeFrame(marker, body, length, bytes, limits)
        case 0xDA:
            let isLossless = frame.map { [0xC3, 0xC7, 0xCB, 0xCF].contains($0.marker) } ?? false
            if isLossless { try checkLosslessScan(segment) }
        default: break
        }
        kept.append(contentsOf: [0xFF, UInt8(marker)])
        kept.append(contentsOf: try bytes.slice(body, length))
    }

    private mutating func takeFrame(
        _ marker: Int, _ body: Int, _ length: Int, _ bytes: ByteWindow, _ limits: ImageLimits
    ) throws(HeaderStop) {
        guard frame == nil else { throw .corrupt("JPEG: two SOF markers") }
        let count = try bytes.u8(body + 7)
        guard length == 8 + 3 * count, count > 0 else { throw .corrupt("JPEG: a frame header of \(length) bytes") }
        var components: [Int] = []
        for index in 0..<count { components.append(try bytes.u8(body + 8 + 3 * index)) }
        let found = Frame(
            marker: marker, precision: try bytes.u8(body + 2), width: try bytes.u16(body + 5),
            height: try bytes.u16(body + 3), components: components)
        frame = found
        if found.height == 0 { throw .corrupt("JPEG: the image is \(found.width)x0 pixels (or has its height in DNL)") }
        do throws(ImageError) { try limits.check(width: found.width, height: found.height) } catch {
            throw .failed(error)
        }
    }

    /// Predictor 1 to 7 and a point transform below the precision (T.81, table B.3).
    private func checkLosslessScan(_ scan: UnsafeRawBufferPointer) throws(HeaderStop) {
        guard let frame, scan.count >= 4, scan.count == 4 + 2 * Int(scan[0]) else {
            throw .corrupt("JPEG: a bad scan header")
        }
        let predictor = scan[scan.count - 3]
        let approximation = scan[scan.count - 1]
        guard (frame.marker & 4 != 0 ? 0 : 1)...7 ~= predictor, scan[scan.count - 2] == 0, approximation >> 4 == 0,
            Int(approximation & 15) < frame.precision
        else { throw .corrupt("JPEG: bad parameters of a lossless scan") }
    }

    private func header(_ limits: ImageLimits) throws(HeaderStop) -> ImageHeader {
        let outcome: Result<ImageHeader, ImageError> = kept.withUnsafeBytes { bytes in
            do throws(ImageError) {
                let facts = try Codec(LARDER_JPEG, bytes, limits: limits, abort: nil).facts
                return .success(
                    ImageHeader(
                        format: .jpeg, width: Int(facts.width), height: Int(facts.height), color: facts.color.color,
                        bitDepth: Int(facts.bit_depth), isProgressive: facts.progressive, iccBytes: facts.icc_length))
            } catch {
                return .failure(error)
            }
        }
        var header: ImageHeader
        switch outcome {
        case .success(let found): header = found
        case .failure(.unsupportedFormat(let details)): header = try headerByHand(details)
        case .failure(let error): throw .failed(error)
        }
        header.orientation = exif ?? .up
        header.hasOrientation = exif != nil
        return header
    }

    /// For frames that libjpeg does not know.
    private func headerByHand(_ details: ImageError.Details) throws(HeaderStop) -> ImageHeader {
        guard let frame else { throw .failed(.unsupportedFormat(details)) }
        let reason =
            switch frame.marker {
            case 0xC3, 0xCB: "lossless JPEG"
            case 0xC5...0xC7, 0xCD...0xCF: "hierarchical JPEG"
            default: frame.precision == 8 ? details.detail : "\(frame.precision)-bit JPEG"
            }
        let isRGB = adobeTransform == 0 || frame.components == Array("RGB".utf8).map { Int($0) }
        let color: ImageHeader.Color? =
            switch frame.components.count {
            case 1: .gray
            case 3: isRGB ? .rgb : .ycbcr
            case 4: adobeTransform == 2 ? .ycck : .cmyk
            default: nil
            }
        return ImageHeader(
            format: .jpeg, width: frame.width, height: frame.height, color: color, bitDepth: frame.precision,
            isProgressive: [0xC2, 0xC6, 0xCA, 0xCE].contains(frame.marker), iccBytes: iccBytes, undecodable: reason)
    }
}
