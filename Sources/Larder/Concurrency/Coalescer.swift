/// One piece of work for all who want the same key at once.
///
/// The first caller starts the work in a task of its own; those who come while it runs wait for the same result.
/// Cancelling one waiter leaves the others alone; cancelling the last one cancels the work. The work's priority is
/// the highest of those who wait. Safe from any thread.
package final class Coalescer<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    package typealias Work = @Sendable (SharedPriority) async throws(ImageError) -> Value
    fileprivate typealias Continuation = Handover<Result<Value, ImageError>>

    private let flights = Lock<[Key: Flight]>([:])
    private let executor: (any TaskExecutor)?

    /// - Parameter executor: where the work runs; nil for the cooperative pool.
    package init(on executor: (any TaskExecutor)? = nil) { self.executor = executor }

    /// How many pieces of work run, for metrics and tests.
    package var count: Int { flights.withLock { $0.count } }

    /// Whether work for the key runs, so that who joins now starts nothing.
    package func isRunning(_ key: Key) -> Bool { flights.withLock { $0[key] != nil } }

    /// One piece of work and those who wait for it.
    fileprivate final class Flight: @unchecked Sendable {
        // Sendable: `priority` is atomic; the rest is only touched while `flights` is locked.
        let priority = SharedPriority(.veryLow)
        var task: Task<Void, Never>?
        var waiters: [ObjectIdentifier: Ticket] = [:]
        var result: Result<Value, ImageError>?

        var greatestPriority: ImagePriority { waiters.values.lazy.map { $0.priority }.max() ?? .veryLow }
    }

    /// A place among those who wait for a key.
    package final class Ticket: @unchecked Sendable {
        // Sendable: the variables are only touched while `flights` is locked.
        fileprivate let key: Key
        fileprivate let flight: Flight
        fileprivate var priority: ImagePriority
        fileprivate var continuation: Continuation?
        fileprivate var follower: SharedPriority.Follower?
        /// Whether the work was already under way.
        package let joined: Bool

        fileprivate init(key: Key, flight: Flight, priority: ImagePriority, joined: Bool) {
            self.key = key
            self.flight = flight
            self.priority = priority
            self.joined = joined
        }
    }

    /// Takes a place and starts the work unless it is under way. Give the ticket to ``wait(_:)`` once.
    package func join(_ key: Key, priority: ImagePriority, work: @escaping Work) -> Ticket {
        let ticket = flights.withLock { flights -> Ticket in
            let running = flights[key]
            let flight = running ?? Flight()
            let ticket = Ticket(key: key, flight: flight, priority: priority, joined: running != nil)
            flight.waiters[ObjectIdentifier(ticket)] = ticket
            guard running == nil else { return ticket }
            flights[key] = flight
            flight.priority.value = priority
            flight.task = Task(executorPreference: executor) { [self] in
                do throws(ImageError) {
                    finish(key, flight, .success(try await work(flight.priority)))
                } catch {
                    finish(key, flight, .failure(error))
                }
            }
            return ticket
        }
        if ticket.joined { settle(ticket.flight) }
        return ticket
    }

    /// Makes the flight as urgent as the most urgent of its waiters. Outside of the lock, because whoever follows
    /// the priority takes locks of their own.
    private func settle(_ flight: Flight) {
        var value: ImagePriority
        repeat {
            value = flights.withLock { _ in flight.greatestPriority }
            flight.priority.value = value
        } while flights.withLock({ _ in flight.greatestPriority }) != value
    }

    /// The same for a caller whose own priority may change while it waits.
    package func join(_ key: Key, following priority: SharedPriority, work: @escaping Work) -> Ticket {
        let ticket = join(key, priority: priority.value, work: work)
        let follower = priority.follow { [weak self, weak ticket] value in
            if let ticket { self?.setPriority(value, of: ticket) }
        }
        flights.withLock { _ in ticket.follower = follower }
        // It may have changed while the place was taken.
        setPriority(priority.value, of: ticket)
        return ticket
    }

    /// Changes the priority of one who waits.
    package func setPriority(_ priority: ImagePriority, of ticket: Ticket) {
        let flight = flights.withLock { _ -> Flight in
            ticket.priority = priority
            return ticket.flight
        }
        settle(flight)
    }

    /// The result of the work. Cancelling the waiting task gives the place up.
    package func wait(_ ticket: Ticket) async throws(ImageError) -> Value {
        let result = await withTaskCancellationHandler {
            await withHandover { (continuation: Continuation) in
                let answer = flights.withLock { _ -> Result<Value, ImageError>? in
                    guard ticket.flight.waiters[ObjectIdentifier(ticket)] != nil else {
                        return ticket.flight.result ?? .failure(.cancelled(.init("cancelled by the caller")))
                    }
                    ticket.continuation = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            leave(ticket)
        }
        return try result.get()
    }

    /// Gives the place up: the last to leave cancels the work.
    package func leave(_ ticket: Ticket) {
        let left = flights.withLock { flights -> (Continuation?, Task<Void, Never>?)? in
            let flight = ticket.flight
            guard flight.waiters.removeValue(forKey: ObjectIdentifier(ticket)) != nil else { return nil }
            defer { ticket.continuation = nil }
            guard flight.waiters.isEmpty else { return (ticket.continuation, nil) }
            // Nobody waits any more: who comes next begins anew.
            if flights[ticket.key] === flight { flights[ticket.key] = nil }
            return (ticket.continuation, flight.task)
        }
        guard let (continuation, task) = left else { return }
        if let task { task.cancel() } else { settle(ticket.flight) }
        continuation?.resume(returning: .failure(.cancelled(.init("cancelled by the caller"))))
    }

    private func finish(_ key: Key, _ flight: Flight, _ result: Result<Value, ImageError>) {
        let waiters = flights.withLock { flights -> [Continuation] in
            if flights[key] === flight { flights[key] = nil }
            flight.result = result
            defer { flight.waiters = [:] }
            return flight.waiters.values.compactMap { ticket in
                defer { ticket.continuation = nil }
                return ticket.continuation
            }
        }
        for waiter in waiters { waiter.resume(returning: result) }
    }
}
