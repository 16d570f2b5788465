import Foundation
import Larder
import Measuring

// Hits on 1,000 pictures in a random order, on 1, 2 and 8 threads; beside them a plain NSCache with NSString keys that
// are made beforehand. Each figure is the best of fifteen short turns, taken by turns, so that a noisy
// moment harms both alike.

/// Keys that stay where they are, so that a lookup measures no copies of them.
struct Keys: @unchecked Sendable {
    // Sendable: written here and never changed, nor freed.
    let ours: UnsafeMutableBufferPointer<CacheKey>
    let theirs: UnsafeMutableBufferPointer<NSString>
    /// NSCache says of itself that it may be used from any thread.
    let plain = NSCache<NSString, Bitmap>()

    init(count: Int) {
        let urls = (0..<count).map { "https://images.example/photos/\($0)/large.jpg?width=640" }
        ours = .allocate(capacity: count)
        theirs = .allocate(capacity: count)
        _ = ours.initialize(from: urls.map { CacheKey(url: $0, variant: "256x256>") })
        _ = theirs.initialize(from: urls.map { NSString(string: $0) })
    }
}

let keys = Keys(count: 1_000)
var random = SeededRandom(seed: 1)
let order = (0..<65_536).map { _ in Int.random(in: 0..<keys.ours.count, using: &random) }

let tier = MemoryTier()
for index in keys.ours.indices {
    let bitmap = try Bitmap(width: 4, height: 4, hasAlpha: false) { pixels, _ in
        pixels.initializeMemory(as: UInt8.self, repeating: 0)
    }
    let header = ImageHeader(format: .jpeg, width: 4, height: 4)
    tier.insert(LoadedImage(bitmap: bitmap, header: header, key: keys.ours[index], source: .network))
    keys.plain.setObject(bitmap, forKey: keys.theirs[index])
}

/// Lookups per second of all threads together.
func rate(_ threads: Int, _ lookups: Int, _ look: @escaping @Sendable (Int) -> Bool) -> Double {
    let order = order
    let time = onThreads(threads) { thread in
        var found = 0
        for turn in 0..<lookups / threads where look(order[(turn + thread * 8_191) & 65_535]) { found += 1 }
        precondition(found == lookups / threads, "every lookup is a hit")
    }
    return Double(lookups / threads * threads) / time
}

let threads = [1, 2, 8]
let (memory, all) = (tier, keys)
var ours = [Int: Double]()
var theirs = [Int: Double]()
for _ in 0..<15 {
    for count in threads {
        ours[count] = max(ours[count] ?? 0, rate(count, 500_000) { memory.image(for: all.ours[$0]) != nil })
        theirs[count] = max(
            theirs[count] ?? 0, rate(count, 100_000) { all.plain.object(forKey: all.theirs[$0]) != nil })
    }
}

func millions(_ rate: Double) -> String { String(format: "%.2f", rate / 1e6) }
var table = Table(["threads", "MemoryTier, million/s", "NSCache, million/s", "ratio"])
for count in threads {
    let (mine, other) = (ours[count] ?? 0, theirs[count] ?? 1)
    table.add(["\(count)", millions(mine), millions(other), String(format: "%.1f", mine / other)])
}
print(table.text)

/// What two threads of plain arithmetic do together against one: 2 on two free cores, 1 where a second is not to be had.
func cores() -> Double {
    @Sendable func spin(_: Int) {
        var random = SeededRandom(seed: 1)
        var sum: UInt64 = 0
        for _ in 0..<20_000_000 { sum &+= random.next() }
        precondition(sum != 0)
    }
    let alone = (0..<3).map { _ in onThreads(1, spin) }.min() ?? 1
    let both = (0..<3).map { _ in onThreads(2, spin) }.min() ?? 1
    return 2 * alone / both
}

let gain = (ours[1] ?? 0) / (theirs[1] ?? 1)
let scaling = (ours[2] ?? 0) / (ours[1] ?? 1)
let other = (theirs[2] ?? 0) / (theirs[1] ?? 1)
func ratio(_ value: Double) -> String { String(format: "%.2f", value) }
print("one thread against NSCache:  \(ratio(gain)) (at least 4)")
print("two threads against one:     \(ratio(scaling)) (at least 1, 0.05 being noise); NSCache: \(ratio(other))")
print("plain arithmetic, likewise:  \(ratio(cores())) (what the machine gave to two threads)")
exit(gain >= 4 && scaling >= 0.95 ? 0 : 1)
