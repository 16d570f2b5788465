import Foundation
import Larder
import Measuring

// Hits on 1,000 pictures in a random order, on 1, 2 and 8 threads: each thread on all of them, on a share of its own,
// and all threads on one picture. Beside them a plain NSCache with NSString keys that are made beforehand.
//
// Everything is measured in short turns. Two threads can only be held against one while there are two processors for
// them: a turn counts where plain arithmetic, before and after, got at least 1.7 times as far on two threads. Rates are
// medians, ratios medians of those within a turn, with the quarters below and above.

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

/// Which pictures the threads look for.
enum Way: String, CaseIterable {
    case all = "all look for all"
    case own = "each for its own"
    case same = "all for one"
}

/// The pictures that a thread looks for, in order.
func order(_ way: Way, _ thread: Int, of threads: Int) -> [Int] {
    order.indices.map { turn in
        switch way {
        case .all: order[(turn + thread * 8_191) & 65_535]
        case .own: min(order[turn] / threads * threads + thread, keys.ours.count - 1)
        case .same: 0
        }
    }
}

let threads = [1, 2, 8]
let orders = Dictionary(
    uniqueKeysWithValues: Way.allCases.flatMap { way in
        threads.map { count in ("\(way) \(count)", (0..<count).map { order(way, $0, of: count) }) }
    })

/// Lookups per second of all threads together.
func rate(_ threads: Int, _ way: Way, _ lookups: Int, _ look: @escaping @Sendable (Int) -> Bool) -> Double {
    guard let orders = orders["\(way) \(threads)"] else { return 0 }
    let time = onThreads(threads) { thread in
        let order = orders[thread]
        var found = 0
        for turn in 0..<lookups / threads where look(order[turn & 65_535]) { found += 1 }
        precondition(found == lookups / threads, "every lookup is a hit")
    }
    return Double(lookups / threads * threads) / time
}

/// What two threads of plain arithmetic do together against one: 2 on two free cores, 1 where a second is not to be had.
func cores() -> Double {
    @Sendable func spin(_: Int) {
        var random = SeededRandom(seed: 1)
        var sum: UInt64 = 0
        for _ in 0..<3_000_000 { sum &+= random.next() }
        precondition(sum != 0)
    }
    return 2 * onThreads(1, spin) / onThreads(2, spin)
}

struct Series {
    private var values: [Double] = []
    mutating func add(_ value: Double) { values.append(value) }
    var count: Int { values.count }
    var median: Double { quantile(0.5) }
    private func quantile(_ part: Double) -> Double {
        values.isEmpty ? .nan : values.sorted()[Int(Double(values.count - 1) * part)]
    }
    var text: String {
        String(format: "%.2f (%.2f to %.2f, %d turns)", median, quantile(0.25), quantile(0.75), count)
    }
}

struct Subject {
    let name: String
    let way: Way
    let look: @Sendable (Int) -> Bool
}

/// Ours in three ways, and NSCache.
let (memory, all) = (tier, keys)
let subjects =
    Way.allCases.map { way in
        Subject(name: "MemoryTier, " + way.rawValue, way: way) { memory.image(for: all.ours[$0]) != nil }
    } + [Subject(name: "NSCache, all look for all", way: .all) { all.plain.object(forKey: all.theirs[$0]) != nil }]
var rates = subjects.map { _ in threads.map { _ in Series() } }
var scaling = subjects.map { _ in [Series(), Series()] }
var gain = Series()
var machine = Series()
let end = seconds() + (CommandLine.arguments.dropFirst().first.flatMap(Double.init) ?? 60)
while seconds() < end {
    var single: [Double] = []
    for (index, subject) in subjects.enumerated() {
        let lookups = index < 3 ? 150_000 : 40_000
        let before = cores()
        let found = threads.map { rate($0, subject.way, lookups, subject.look) }
        let after = cores()
        for (place, rate) in found.enumerated() { rates[index][place].add(rate) }
        single.append(found[0])
        machine.add(before)
        guard min(before, after) >= 1.7 else { continue }
        for place in 0...1 { scaling[index][place].add(found[place + 1] / found[0]) }
    }
    gain.add(single[0] / single[3])
}

var table = Table(["million/s, threads"] + threads.map(String.init))
for (subject, rates) in zip(subjects, rates) {
    table.add([subject.name] + rates.map { String(format: "%.2f", $0.median / 1e6) })
}
print(table.text)
print("one thread against NSCache, at least 4:   \(gain.text)")
for (subject, scaling) in zip(subjects, scaling) {
    print("\(subject.name)")
    print("    two threads against one:              \(scaling[0].text)")
    print("    eight threads against one:            \(scaling[1].text)")
}
print("plain arithmetic on two threads:          \(machine.text)")
guard scaling[0][0].count >= 10 else {
    print("The machine had no two processors for us: nothing is known of two threads.")
    exit(3)
}
exit(gain.median >= 4 && scaling[0][0].median >= 1 ? 0 : 1)
