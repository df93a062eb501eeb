import Synchronization
import TallyCRDT

extension Store {
  /// Returns a sequence of events that report each commit that changes replicated records: its origin and the records
  /// it touches. Use it for badges, notifications, search indexes and undo stacks; to follow a query, `values` is
  /// simpler.
  ///
  /// ```swift
  /// for await event in store.events() where event.origins.contains(.peer) {
  ///   if event.mayConcern(chess) { print("somebody else has changed chess") }
  /// }
  /// ```
  ///
  /// The sequence reports transactions that begin after this call, once they are committed; failed ones are not
  /// reported. Writes of two threads at the same moment may be reported in either order. Nothing is omitted: a reader
  /// that is slower than the changes gets several transactions as one event (`transactionCount`), and above a thousand
  /// names an event reports `.many`. Memory use is therefore bounded, for any merge and any pause of the reader.
  ///
  /// Writes of other connections and processes are reported when this store captures them: with its next write or
  /// `captureChanges()`, which a sync engine calls by itself. Writes that another process has captured with a store of
  /// its own are reported as `.many` for all tables. Changes to the app's own tables are not reported; GRDB's
  /// `DatabaseRegionObservation` follows those.
  ///
  /// Each call returns a sequence of its own, for one task. It ends with that task, or when the store is closed, after
  /// it has reported all earlier commits. While there is a listener, each changed record costs an entry in a set.
  public func events() -> StoreEvents { StoreEvents(eventFollowers.follow()) }
}

/// The sequence of events of a store, for one task, as `Store.events()` returns it.
public struct StoreEvents: AsyncSequence, Sendable {
  /// The type of the events in the sequence.
  public typealias Element = StoreEvent
  /// The error type: the sequence ends but never fails.
  public typealias Failure = Never
  private let follower: EventFollower

  init(_ follower: EventFollower) { self.follower = follower }

  /// An iterator that waits for the events, in the order in which they are reported.
  public struct Iterator: AsyncIteratorProtocol {
    private let follower: EventFollower
    private var ticks: AsyncStream<Void>.Iterator

    init(_ follower: EventFollower) {
      self.follower = follower
      ticks = follower.queue.ticks.makeAsyncIterator()
    }

    /// Returns the next event; nil when the task is cancelled or the store is closed.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> StoreEvent? {
      while true {
        if let event = follower.queue.pop() { return event }
        guard await ticks.next(isolation: actor) != nil else { return follower.queue.pop() }
      }
    }
  }

  /// Returns an iterator. Iterate over a sequence only once.
  public func makeAsyncIterator() -> Iterator { Iterator(follower) }
}

/// The followers of the events of one store.
final class EventFollowers: Sendable {
  private struct State {
    var next = 0
    var queues: [Int: EventQueue] = [:]
    var isFinished = false
  }
  private let state = Mutex(State())

  /// Whether anybody listens.
  var isFollowed: Bool { state.withLock { !$0.queues.isEmpty } }

  func follow() -> EventFollower {
    let queue = EventQueue()
    let id = state.withLock { state in
      defer { state.next += 1 }
      if state.isFinished { queue.finish() } else { state.queues[state.next] = queue }
      return state.next
    }
    return EventFollower(queue: queue) { [weak self] in _ = self?.state.withLock { $0.queues.removeValue(forKey: id) } }
  }

  func publish(_ events: [StoreEvent]) {
    guard !events.isEmpty else { return }
    for queue in state.withLock({ Array($0.queues.values) }) { queue.push(events) }
  }

  /// Ends all sequences, after what was told already, and those that begin later.
  func finish() {
    let queues = state.withLock { state in
      defer { (state.queues, state.isFinished) = ([:], true) }
      return Array(state.queues.values)
    }
    for queue in queues { queue.finish() }
  }

  deinit { finish() }
}

/// One who follows, until it is released.
final class EventFollower: Sendable {
  let queue: EventQueue
  private let leave: @Sendable () -> Void

  init(queue: EventQueue, leave: @escaping @Sendable () -> Void) { (self.queue, self.leave) = (queue, leave) }

  deinit { leave() }
}

/// Events that were not read yet.
final class EventQueue: Sendable {
  /// The most events that wait; later ones are told together with the last.
  static let limit = 64
  let ticks: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation
  private let waiting = Mutex<[StoreEvent]>([])

  init() { (ticks, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

  func push(_ events: [StoreEvent]) {
    waiting.withLock { waiting in
      for event in events {
        if waiting.count < Self.limit {
          waiting.append(event)
        } else {
          waiting[waiting.count - 1].merge(event)
        }
      }
    }
    continuation.yield()
  }

  func pop() -> StoreEvent? { waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() } }

  func finish() { continuation.finish() }
}
