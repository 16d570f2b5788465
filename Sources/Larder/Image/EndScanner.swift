import CImageCodecs
import Glibc

/// Follows an image's bytes to where the image itself ends, whatever the transfer says of its length.
///
/// For JPEG (ITU-T T.81 §B.1.1: the EOI marker outside of any segment) and PNG (§11.2.5: the IEND chunk). What
/// comes behind the end is passed over. A value that looks at most bytes once and keeps none of them.
package struct EndScanner: Sendable {
    private enum State {
        /// Looking for the 0xFF of a JPEG marker.
        case marker
        /// After a 0xFF.
        case code
        /// Reading the two bytes of a segment's length.
        case segment(code: UInt8, high: UInt8?)
        /// Within a JPEG segment or a PNG chunk.
        case skip(UInt64, then: After)
        /// Within entropy-coded data, where only a marker that is neither RST nor stuffing ends it.
        case scan
        case scanCode
        /// Reading the eight bytes of a PNG chunk's length and type.
        case chunk(bytes: Int, value: UInt64)
        case ended
        case unknown
    }

    private enum After {
        case marker, scan, chunk, ended
    }

    private var state: State

    /// Follows nothing for other formats.
    package init(_ format: ImageFormat) {
        state =
            switch format {
            case .jpeg: .marker
            case .png: .skip(8, then: .chunk)
            default: .unknown
            }
    }

    /// Whether the image's end has been seen; nil for formats that are not followed.
    package var isComplete: Bool? {
        switch state {
        case .ended: true
        case .unknown: nil
        default: false
        }
    }

    /// Takes the next bytes, from the file's first on.
    package mutating func feed(_ bytes: UnsafeRawBufferPointer) {
        var at = 0
        while at < bytes.count {
            switch state {
            case .ended, .unknown:
                return
            case .skip(let count, let after):
                let step = Int(min(count, UInt64(bytes.count - at)))
                at += step
                state = UInt64(step) == count ? Self.state(after) : .skip(count - UInt64(step), then: after)
            case .scan:
                at += Self.scanned(bytes, from: at)
                if bytes[at] == 0xFF { state = .scanCode }
                at += 1
            case .scanCode:
                switch bytes[at] {
                case 0xFF: at += 1
                case 0x00, 0xD0...0xD7:
                    at += 1
                    state = .scan
                default: state = .code
                }
            case .marker:
                guard let next = Self.find(0xFF, in: bytes, from: at) else { return }
                at = next + 1
                state = .code
            case .code:
                let code = bytes[at]
                at += 1
                switch code {
                case 0xFF: break
                case 0xD9: state = .ended
                case 0x00, 0x01, 0xD0...0xD8: state = .marker
                default: state = .segment(code: code, high: nil)
                }
            case .segment(let code, let high):
                let byte = bytes[at]
                at += 1
                guard let high else {
                    state = .segment(code: code, high: byte)
                    continue
                }
                let length = UInt64(high) << 8 | UInt64(byte)
                let after: After = code == 0xDA ? .scan : .marker
                state = length > 2 ? .skip(length - 2, then: after) : Self.state(after)
            case .chunk(let count, let value):
                let value = value << 8 | UInt64(bytes[at])
                at += 1
                guard count == 7 else {
                    state = .chunk(bytes: count + 1, value: value)
                    continue
                }
                let isEnd = value & 0xFFFF_FFFF == 0x4945_4E44
                state = .skip((value >> 32) + 4, then: isEnd ? .ended : .chunk)
            }
        }
    }

    private static func state(_ after: After) -> State {
        switch after {
        case .marker: .marker
        case .scan: .scan
        case .chunk: .chunk(bytes: 0, value: 0)
        case .ended: .ended
        }
    }

    /// How many bytes from there on certainly belong to the scan: less than all.
    private static func scanned(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
        return larder_jpeg_scan_end(rest.baseAddress?.assumingMemoryBound(to: UInt8.self), rest.count)
    }

    private static func find(_ byte: Int32, in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard let base = bytes.baseAddress, let found = memchr(base + start, byte, bytes.count - start) else {
            return nil
        }
        return UnsafeRawPointer(found) - base
    }
}
