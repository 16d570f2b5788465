import LarderWorkers

/// Which row goes next: hosts take turns, so that a slow one blocks no other. A plain value: time is told to it.
///
/// Rows of higher priority go first. A host that has not answered yet has few rows under way at once; one that let
/// all of these time out and answered none is given up for a while, and its rows are not tried. A row that takes
/// long does not count against `parallel` any more, up to `most` rows under way in all.
struct Schedule: Sendable {
    /// Rows under way at once.
    var parallel = 16
    /// Rows under way at once in all, those that wait for a host that has not answered yet included.
    var most = 16
    var perHost = 6
    /// Seconds for which a host that has not answered yet may hold a place.
    static let patience = 0.25
    /// Rows under way at once to a host that has not answered yet, and how many time-outs give it up.
    static let probes = 3
    /// Seconds for which a host stays given up.
    static let rest = 30.0
    /// Hosts without rows that are remembered.
    static let remembered = 50_000

    private struct Host: Sendable {
        var underWay = 0
        var hasAnswered = false
        var timeouts = 0
        var restsUntil = -Double.infinity
        var waiting = 0
    }

    /// The rows of one priority: a queue a host, and the hosts whose turn may come.
    private struct Lane: Sendable {
        var queues: [String: Fifo<PrefetchJob.Item>] = [:]
        var turns = Fifo<String>()
        /// Hosts that have an entry in `turns`.
        var listed: Set<String> = []
    }

    /// Hosts that are remembered, for tests.
    var hostCount: Int { hosts.count }
    private var hosts: [String: Host] = [:]
    private var forgetsAbove = Self.remembered
    private var lanes: [Int: Lane] = [:]
    private var order: [Int] = []
    private var begun = Fifo<(start: Double, sequence: Int, host: String)>()
    private var young: Set<Int> = []
    private(set) var underWay = 0
    private(set) var waiting = 0

    /// Takes a row in. False where its host is given up: the row fails at once.
    mutating func add(_ item: PrefetchJob.Item, now: Double) -> Bool {
        let name = item.host
        var host = hosts[name] ?? Host()
        if now < host.restsUntil { return false }
        if host.timeouts >= Self.probes {
            // Its rest is over: one row finds out how it is.
            host.timeouts = Self.probes - 1
        }
        host.waiting += 1
        hosts[name] = host
        let priority = max(-100, min(100, item.row.priority))
        if lanes[priority] == nil {
            lanes[priority] = Lane()
            order.append(priority)
            order.sort(by: >)
        }
        lanes[priority]!.queues[name, default: Fifo()].append(item)
        if lanes[priority]!.listed.insert(name).inserted { lanes[priority]!.turns.append(name) }
        waiting += 1
        return true
    }

    /// The row that goes next, or nil where none may.
    mutating func next(now: Double) -> PrefetchJob.Item? {
        settle(now: now)
        guard waiting > 0, young.count < parallel, underWay < most else { return nil }
        for priority in order {
            if let item = next(in: priority) {
                if most > parallel, hosts[item.host]?.hasAnswered == false {
                    begun.append((now, item.sequence, item.host))
                }
                young.insert(item.sequence)
                underWay += 1
                waiting -= 1
                return item
            }
        }
        return nil
    }

    private mutating func next(in priority: Int) -> PrefetchJob.Item? {
        while let name = lanes[priority]?.turns.popFirst() {
            lanes[priority]!.listed.remove(name)
            guard var host = hosts[name], host.underWay < limit(host) else { continue }
            guard let item = lanes[priority]!.queues[name]?.popFirst() else { continue }
            host.underWay += 1
            host.waiting -= 1
            hosts[name] = host
            if lanes[priority]!.queues[name]!.isEmpty {
                lanes[priority]!.queues[name] = nil
            } else if host.underWay < limit(host) {
                list(name, priority)
            }
            dropEmpty(priority)
            return item
        }
        return nil
    }

    /// What a row's end tells about its host.
    enum Verdict { case answered, timedOut, unknown }

    /// Ends a row that `next` gave. Gives the rows that are not to be tried any more.
    mutating func finish(_ item: PrefetchJob.Item, _ verdict: Verdict, now: Double) -> [PrefetchJob.Item] {
        underWay -= 1
        young.remove(item.sequence)
        guard var host = hosts[item.host] else { return [] }
        host.underWay -= 1
        switch verdict {
        case .answered:
            host.hasAnswered = true
            host.timeouts = 0
        case .timedOut: host.timeouts += host.hasAnswered ? 0 : 1
        case .unknown: break
        }
        var dropped: [PrefetchJob.Item] = []
        if host.timeouts >= Self.probes {
            host.restsUntil = now + Self.rest
            dropped = drop(item.host)
            host.waiting = 0
        }
        hosts[item.host] = host
        if host.waiting > 0 {
            for priority in order where lanes[priority]?.queues[item.host] != nil { list(item.host, priority) }
        } else if hosts.count > forgetsAbove {
            forget(now: now)
        }
        return dropped
    }

    /// Hosts without rows and without a rest to keep: whether they answer is found out anew by their next rows.
    private mutating func forget(now: Double) {
        hosts = hosts.filter { $0.value.underWay > 0 || $0.value.waiting > 0 || $0.value.restsUntil > now }
        // What could not be forgotten is not looked at with every row.
        forgetsAbove = max(Self.remembered, hosts.count * 2)
    }

    /// Forgets every row that waits.
    mutating func clear() {
        lanes = [:]
        order = []
        waiting = 0
    }

    private func limit(_ host: Host) -> Int {
        host.hasAnswered ? perHost : min(perHost, Self.probes - host.timeouts)
    }

    private mutating func list(_ name: String, _ priority: Int) {
        if lanes[priority]!.listed.insert(name).inserted { lanes[priority]!.turns.append(name) }
    }

    private mutating func drop(_ name: String) -> [PrefetchJob.Item] {
        var dropped: [PrefetchJob.Item] = []
        for priority in order {
            guard var queue = lanes[priority]?.queues.removeValue(forKey: name) else { continue }
            while let item = queue.popFirst() { dropped.append(item) }
            dropEmpty(priority)
        }
        waiting -= dropped.count
        return dropped
    }

    private mutating func dropEmpty(_ priority: Int) {
        guard lanes[priority]?.queues.isEmpty == true else { return }
        lanes[priority] = nil
        order.removeAll { $0 == priority }
    }

    /// Rows that wait for hosts that do not answer leave the count.
    private mutating func settle(now: Double) {
        while let first = begun.first, first.start + Self.patience <= now || !young.contains(first.sequence) {
            if hosts[first.host]?.hasAnswered == false { young.remove(first.sequence) }
            _ = begun.popFirst()
        }
    }
}

/// A queue whose ends cost O(1).
struct Fifo<Element: Sendable>: Sendable {
    private var items: [Element?] = []
    private var head = 0

    var isEmpty: Bool { head == items.count }
    var count: Int { items.count - head }
    var first: Element? { head < items.count ? items[head] : nil }

    mutating func append(_ element: Element) { items.append(element) }

    mutating func popFirst() -> Element? {
        guard head < items.count else { return nil }
        let element = items[head]
        items[head] = nil
        head += 1
        if head == items.count {
            items.removeAll(keepingCapacity: head < 1024)
            head = 0
        } else if head > 1024, head * 2 > items.count {
            items.removeFirst(head)
            head = 0
        }
        return element
    }
}
