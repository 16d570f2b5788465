/// Finds where the scans of a JPEG end, in bytes that keep growing (ITU-T T.81, annex B). Each byte is looked at once.
struct ScanCounter {
    /// Scans that are there to their end.
    private(set) var scans = 0
    /// Where the last of them ends: the place of the marker behind it.
    private(set) var end = 0
    /// How far the bytes have been looked at.
    private var position = 2
    private var isInScan = false

    /// - Parameter bytes: the file from its start; at least what the last call was given.
    mutating func advance(_ bytes: UnsafeRawBufferPointer) {
        while position + 1 < bytes.count {
            let next = bytes[position + 1]
            guard bytes[position] == 0xFF, next != 0xFF else {
                position += 1
                continue
            }
            switch next {
            case 0x00, 0x01, 0xD0...0xD8: position += 2
            case 0xD9:
                finish()
                // What may follow the end is no part of the picture.
                position = .max - 1
                return
            default:
                finish()
                guard position + 3 < bytes.count else { return }
                let length = Int(bytes[position + 2]) << 8 | Int(bytes[position + 3])
                isInScan = next == 0xDA
                position += 2 + max(2, length)
            }
        }
    }

    private mutating func finish() {
        guard isInScan else { return }
        isInScan = false
        scans += 1
        end = position
    }
}
