/// Finds out what an image is while its bytes arrive: the format by its signature, then the header.
///
/// It answers as soon as the bytes allow, looks at every byte once, and holds no more than one incomplete part of
/// the header, at most ``ImageLimits/maxMetadataBytes``. A value; use one parser for one image, from one thread.
public struct HeaderParser: Sendable {
    /// How far the header has come.
    public enum Progress: Sendable, Hashable {
        /// It is not there yet.
        case needMore
        /// It is there.
        case header(ImageHeader)
    }

    private let limits: ImageLimits
    /// nil until the signature has been recognised.
    public private(set) var format: ImageFormat?
    private var reader: (any HeaderReader)?
    private var header: ImageHeader?
    /// Bytes that a reader has not done with, and the offset of the first.
    private var held: [UInt8] = []
    private var base = 0
    private var received = 0
    /// The reader is not asked before this many bytes have come.
    private var wanted = 1

    /// A parser that has seen nothing yet.
    public init(limits: ImageLimits = ImageLimits()) { self.limits = limits }

    /// How long the file must be at least to be whole, where the header tells (not JPEG). nil before the header.
    public var leastLength: Int? { header == nil ? nil : reader?.leastLength }

    /// Takes the next bytes, in order. After the header has been found they are only counted.
    ///
    /// - Throws: ``ImageError/notAnImage(_:)``, ``ImageError/unsupportedFormat(_:)``, ``ImageError/corrupt(_:)`` or
    ///   ``ImageError/tooLarge(_:)``.
    public mutating func feed(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> Progress {
        let start = received
        received += bytes.count
        if let header { return .header(header) }
        guard received >= wanted else {
            keep(bytes, from: start)
            return .needMore
        }
        let outcome: Result<Progress, ImageError>
        if held.isEmpty {
            outcome = attempt(ByteWindow(bytes, base: start))
            if case .success(.needMore) = outcome { keep(bytes, from: start) }
        } else {
            keep(bytes, from: start)
            var window = [UInt8]()
            swap(&window, &held)
            outcome = window.withUnsafeBytes { attempt(ByteWindow($0, base: base)) }
            if case .success(.needMore) = outcome {
                swap(&window, &held)
                trim()
            }
        }
        return try outcome.get()
    }

    /// The header, when no more bytes will come.
    ///
    /// - Throws: ``ImageError/truncated(_:)`` where the bytes end before the header does or, where the header tells,
    ///   before the image does; ``ImageError/notAnImage(_:)`` where there are too few to be one.
    public mutating func finish() throws(ImageError) -> ImageHeader {
        if header == nil, !held.isEmpty {
            // A reader may have waited for more than it needs.
            let window = held
            if case .failure(let error) = window.withUnsafeBytes({ attempt(ByteWindow($0, base: base)) }) {
                throw error
            }
        }
        if let header {
            if let least = leastLength, received < least {
                throw .truncated(.init("\(received) bytes of at least \(least)"))
            }
            return header
        }
        guard let format else {
            throw .notAnImage(.init(held.withUnsafeBytes { FormatSniffer.description(of: $0) }))
        }
        throw .truncated(.init("the \(format.rawValue.uppercased()) header is not complete after \(received) bytes"))
    }

    private mutating func attempt(_ window: ByteWindow) -> Result<Progress, ImageError> {
        do throws(ImageError) {
            if reader == nil {
                switch FormatSniffer.sniff(window.bytes) {
                case .format(let found):
                    format = found
                    reader = found.reader.init()
                case .undecided:
                    wanted = received + 1
                    return .success(.needMore)
                case .none(let detail): throw .notAnImage(.init(detail))
                case .unsupported(let name): throw .unsupportedFormat(.init("\(name) is not supported"))
                }
            }
            return .success(try advance(window))
        } catch {
            return .failure(error)
        }
    }

    private mutating func advance(_ window: ByteWindow) throws(ImageError) -> Progress {
        guard var current = reader else { return .needMore }
        // The reader is the only holder of what it has collected while it works, so that nothing is copied.
        reader = nil
        defer { reader = current }
        do throws(HeaderStop) {
            let found = try current.read(window, limits)
            header = found
        } catch {
            switch error {
            case .failed(let failure): throw failure
            case .missing(let offset):
                guard offset - current.position <= limits.maxMetadataBytes else {
                    throw .tooLarge(.init("the header holds more than \(limits.maxMetadataBytes) bytes of metadata"))
                }
                wanted = max(offset, received + 1)
                return .needMore
            }
        }
        guard let header else { return .needMore }
        try limits.check(header)
        return .header(header)
    }

    /// Keeps what lies at or behind the reader's position.
    private mutating func keep(_ bytes: UnsafeRawBufferPointer, from start: Int) {
        let first = max(start, reader?.position ?? 0)
        guard first < start + bytes.count else { return }
        if held.isEmpty { base = first }
        held.append(contentsOf: bytes[(first - start)...])
    }

    private mutating func trim() {
        let done = min(max(0, (reader?.position ?? 0) - base), held.count)
        held.removeFirst(done)
        base += done
    }
}
