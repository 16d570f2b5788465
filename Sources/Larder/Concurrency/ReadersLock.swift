import CPlatform
import Glibc
import Synchronization

/// A value that is read all the time and seldom changed. Readers on different processors write to no cache line in
/// common, so they do not slow each other down; who changes the value waits until all of them have left.
///
/// Plain pointers, because a reference that every reader counts is one cache line for which all of them fight. For
/// leaves only: neither `read` nor `change` may call out, nor release anything of which it may hold the last reference.
struct ReadersLock<Value>: @unchecked Sendable {
    // Sendable: `value` is changed only by who holds `changers`, after `isChanging` was set and every stripe was seen
    // without readers. A reader first enters its stripe and then looks at `isChanging`, a changer the other way round,
    // each in the one order of all sequentially consistent operations: one of the two always sees the other.

    /// What the readers of one processor write to, in cache lines of its own (two, since they are fetched in pairs).
    private struct Stripe: ~Copyable {
        /// Readers inside in the lowest 16 bits, hits above them: leaving and counting is one operation.
        let readers = Atomic<UInt64>(0)
        let misses = Atomic<UInt64>(0)

        static var bytes: Int { 128 }
        static var hit: UInt64 { 1 << 16 }
    }

    /// What only changers write to.
    private struct Door: ~Copyable {
        let isChanging = Atomic(false)
        var changers = pthread_mutex_t()
    }

    /// A power of two. More processors than stripes share them.
    private static var width: Int { 64 }

    private let stripes: UnsafeMutableRawPointer
    private let door: UnsafeMutablePointer<Door>
    private let value: UnsafeMutablePointer<Value>

    init(_ value: sending Value) {
        stripes = .allocate(byteCount: Self.width * Stripe.bytes, alignment: Stripe.bytes)
        for index in 0..<Self.width {
            (stripes + index * Stripe.bytes).bindMemory(to: Stripe.self, capacity: 1).initialize(to: Stripe())
        }
        door = Self.allocate(Door.self)
        door.initialize(to: Door())
        pthread_mutex_init(&door.pointee.changers, nil)
        self.value = Self.allocate(Value.self)
        self.value.initialize(to: value)
    }

    private static func allocate<Part: ~Copyable>(_ part: Part.Type) -> UnsafeMutablePointer<Part> {
        let alignment = max(Stripe.bytes, MemoryLayout<Part>.alignment)
        let size = (MemoryLayout<Part>.size + alignment - 1) & ~(alignment - 1)
        return UnsafeMutableRawPointer.allocate(byteCount: max(size, alignment), alignment: alignment)
            .bindMemory(to: Part.self, capacity: 1)
    }

    /// Once, when nobody uses it any more.
    func destroy() {
        value.deinitialize(count: 1)
        pthread_mutex_destroy(&door.pointee.changers)
        door.deinitialize(count: 1)
        for index in 0..<Self.width { stripe(index).deinitialize(count: 1) }
        for part in [UnsafeMutableRawPointer(value), UnsafeMutableRawPointer(door), stripes] { part.deallocate() }
    }

    private func stripe(_ index: Int) -> UnsafeMutablePointer<Stripe> {
        (stripes + index * Stripe.bytes).assumingMemoryBound(to: Stripe.self)
    }

    /// That of the processor, which is a hint: after a move to another one it is merely shared for a moment.
    @inline(__always)
    private var ownStripe: UnsafeMutablePointer<Stripe> {
        stripe(Int(larder_processor()) & (Self.width - 1))
    }

    /// Reads the value, and counts a hit, a miss or, for nil, neither.
    @inline(__always)
    func read<Result>(_ body: (borrowing Value) -> (result: Result, isHit: Bool?)) -> Result {
        let stripe = ownStripe
        stripe.pointee.readers.wrappingAdd(1, ordering: .sequentiallyConsistent)
        guard !door.pointee.isChanging.load(ordering: .sequentiallyConsistent) else {
            stripe.pointee.readers.wrappingSubtract(1, ordering: .releasing)
            let (result, isHit) = change { body($0) }
            count(isHit, at: stripe)
            return result
        }
        let (result, isHit) = body(value.pointee)
        stripe.pointee.readers.wrappingAdd(isHit == true ? Stripe.hit &- 1 : 0 &- 1, ordering: .releasing)
        if isHit == false { stripe.pointee.misses.wrappingAdd(1, ordering: .relaxed) }
        return result
    }

    /// Counts what turned out later.
    func count(isHit: Bool) { count(isHit, at: ownStripe) }

    private func count(_ isHit: Bool?, at stripe: UnsafeMutablePointer<Stripe>) {
        guard let isHit else { return }
        if isHit {
            stripe.pointee.readers.wrappingAdd(Stripe.hit, ordering: .relaxed)
        } else {
            stripe.pointee.misses.wrappingAdd(1, ordering: .relaxed)
        }
    }

    /// Changes the value, alone with it. Costs a look at every stripe, and waits for the readers who are inside.
    func change<Result>(_ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(&door.pointee.changers)
        door.pointee.isChanging.store(true, ordering: .sequentiallyConsistent)
        for index in 0..<Self.width {
            while stripe(index).pointee.readers.load(ordering: .sequentiallyConsistent) & (Stripe.hit - 1) != 0 {
                // A reader is inside for some nanoseconds, unless it was preempted there.
                sched_yield()
            }
        }
        defer {
            door.pointee.isChanging.store(false, ordering: .releasing)
            pthread_mutex_unlock(&door.pointee.changers)
        }
        return body(&value.pointee)
    }

    var counts: (hits: Int, misses: Int) {
        (0..<Self.width).reduce((0, 0)) { sum, index in
            let stripe = stripe(index)
            return (
                sum.0 + Int(stripe.pointee.readers.load(ordering: .relaxed) >> 16),
                sum.1 + Int(truncatingIfNeeded: stripe.pointee.misses.load(ordering: .relaxed))
            )
        }
    }
}
