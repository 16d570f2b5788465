import Testing

@testable import Larder

/// The policy alone, by names and costs.
@Suite struct MemoryPolicyTests {
    private final class Cache {
        var policy = S3FIFO()
        var nodes: [Int: PolicyNode] = [:]
        var names: [ObjectIdentifier: Int] = [:]
        let room: Int
        init(room: Int) { self.room = room }

        /// Whether it was there.
        @discardableResult
        func ask(_ name: Int) -> Bool {
            if let node = nodes[name] {
                node.touch()
                return true
            }
            if nodes.count >= room, let victim = policy.victim() { drop(victim) }
            let node = PolicyNode(fingerprint: UInt64(name), cost: 1)
            policy.admit(node)
            nodes[name] = node
            names[ObjectIdentifier(node)] = name
            return false
        }

        func drop(_ node: PolicyNode) {
            guard let name = names.removeValue(forKey: ObjectIdentifier(node)) else { return }
            nodes[name] = nil
        }
    }

    @Test func whatIsNotAskedForGoesInOrder() {
        let cache = Cache(room: 10)
        for name in 0..<25 { cache.ask(name) }
        #expect(cache.nodes.keys.sorted() == Array(15..<25))
    }

    @Test func oneUseIsProofEnough() {
        let cache = Cache(room: 100)
        for name in 0..<20 { cache.ask(name) }
        for name in 0..<20 { cache.ask(name) }
        for name in 1_000..<3_000 { cache.ask(name) }
        #expect((0..<20).allSatisfy { cache.nodes[$0] != nil })
    }

    /// Who was taken out too early, and is asked for again soon, goes straight to the main queue.
    @Test func aNameThatComesBackIsRemembered() {
        let cache = Cache(room: 100)
        for name in 0..<200 { cache.ask(name) }
        #expect(cache.nodes[90] == nil)
        cache.ask(90)
        for name in 1_000..<1_500 { cache.ask(name) }
        #expect(cache.nodes[90] != nil)
    }

    /// Old popularity passes.
    @Test func whatIsNoLongerAskedForGoesInTheEnd() {
        let cache = Cache(room: 50)
        for _ in 0..<10 { for name in 0..<40 { cache.ask(name) } }
        for name in 100..<400 { for _ in 0..<4 { cache.ask(name) } }
        #expect((0..<40).allSatisfy { cache.nodes[$0] == nil })
    }

    @Test func everyVictimIsGivenOnce() {
        var policy = S3FIFO()
        let nodes = (0..<100).map { PolicyNode(fingerprint: UInt64($0), cost: 1 + $0 % 7) }
        for node in nodes { policy.admit(node) }
        for node in nodes where node.fingerprint % 3 == 0 { node.touch() }
        policy.remove(nodes[50])
        var gone: Set<UInt64> = []
        while let victim = policy.victim() {
            let isNew = gone.insert(victim.fingerprint).inserted
            #expect(isNew)
            #expect(!victim.isQueued)
        }
        #expect(gone.count == 99 && !gone.contains(50))
    }

    @Test func ghostsForgetTheOldest() {
        var ghosts = GhostNames()
        for name in 0..<10_000 { ghosts.insert(UInt64(name), limit: 100) }
        #expect(ghosts.count == 100)
        let known = [9_899, 9_900, 9_900].map { ghosts.remove($0) }
        #expect(known == [false, true, false])
        // Put in twice: the first time's turn does not take the second along.
        ghosts.insert(1, limit: 3)
        ghosts.insert(2, limit: 3)
        ghosts.insert(1, limit: 3)
        ghosts.insert(3, limit: 3)
        let still = [1, 2, 3].map { ghosts.remove($0) }
        #expect(still == [true, true, true])
    }

    @Test func usesSaturateAndFade() {
        let node = PolicyNode(fingerprint: 1, cost: 1)
        for _ in 0..<10 { node.touch() }
        #expect(node.useCount == 3)
        node.fade()
        #expect(node.useCount == 2)
        node.forgetUses()
        node.fade()
        #expect(node.useCount == 0)
    }

    @Test func aQueueKeepsOrderCountAndCost() {
        let queue = PolicyQueue()
        let nodes = (0..<5).map { PolicyNode(fingerprint: UInt64($0), cost: $0) }
        for node in nodes { queue.push(node) }
        #expect(queue.count == 5 && queue.cost == 10)
        for index in [2, 4, 0] { queue.remove(nodes[index]) }
        #expect(queue.newest === nodes[3] && queue.oldest === nodes[1])
        #expect(queue.cost == 4)
        #expect(queue.popOldest() === nodes[1])
        #expect(queue.popOldest() === nodes[3])
        #expect(queue.popOldest() == nil && queue.newest == nil)
    }

    @Test func aQueueHoldsItsNodesAndLetsGoOfThem() {
        weak var node: PolicyNode?
        do {
            let queue = PolicyQueue()
            do {
                let made = PolicyNode(fingerprint: 1, cost: 1)
                queue.push(made)
                node = made
            }
            #expect(node != nil)
            withExtendedLifetime(queue) {}
        }
        #expect(node == nil)
    }
}
