import GRDB
import Synchronization

/// The sequence of values of an observed query, for one task, as ``Store/values(_:)`` returns it.
public struct StoreValues<Element: Sendable>: AsyncSequence, Sendable {
  /// The error type: the sequence fails with the query's error, or with `StoreError.closed`.
  public typealias Failure = any Error
  /// Starts an observation: with what is told of an error, and of each value.
  typealias Start =
    @Sendable (
      @escaping @Sendable (any Error) -> Void, @escaping @Sendable (Element) -> Void
    ) -> AnyDatabaseCancellable

  private let followers: ValueFollowers
  private let start: Start

  init<Reducer: ValueReducer>(_ observation: ValueObservation<Reducer>, in store: Store)
  where Reducer.Value == Element {
    followers = store.valueFollowers
    start = { observation.start(in: store, scheduling: .task, onError: $0, onChange: $1) }
  }

  /// An iterator that waits for values and always provides the newest one.
  public struct Iterator: AsyncIteratorProtocol {
    private var values: AsyncThrowingStream<Element, any Error>.Iterator
    private let follower: ValueFollower

    init(_ values: AsyncThrowingStream<Element, any Error>, _ follower: ValueFollower) {
      self.values = values.makeAsyncIterator()
      self.follower = follower
    }

    /// Returns the next value; nil when the task is cancelled.
    /// - Throws: the query's error; `StoreError.closed` once the store is closed. Then the sequence has ended.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
      try await values.next(isolation: actor)
    }
  }

  /// Begins to observe the query and returns an iterator. Each iterator observes by itself.
  public func makeAsyncIterator() -> Iterator {
    let (values, feed) = AsyncThrowingStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(1))
    let follower = followers.follow { feed.finish(throwing: $0) }
    follower.observe(start({ feed.finish(throwing: $0) }, { feed.yield($0) }))
    feed.onTermination = { [weak follower] _ in follower?.cancel() }
    return Iterator(values, follower)
  }
}

/// Who observes the queries of one store. GRDB's observations say nothing of a database that is closed, and would be
/// waited for in vain.
final class ValueFollowers: Sendable {
  private struct State {
    var next = 0
    var ends: [Int: @Sendable (any Error) -> Void] = [:]
    var end: (any Error)?
  }
  private let state = Mutex(State())

  /// Follows until the result is released. `end` is called once with the error if all sequences end before.
  func follow(_ end: @escaping @Sendable (any Error) -> Void) -> ValueFollower {
    let (id, error) = state.withLock { state in
      defer { state.next += 1 }
      if state.end == nil { state.ends[state.next] = end }
      return (state.next, state.end)
    }
    if let error { end(error) }
    return ValueFollower { [weak self] in _ = self?.state.withLock { $0.ends.removeValue(forKey: id) } }
  }

  /// Ends all sequences, and those that begin later.
  func finish(throwing error: any Error) {
    let ends = state.withLock { state in
      defer { (state.ends, state.end) = ([:], error) }
      return Array(state.ends.values)
    }
    for end in ends { end(error) }
  }
}

/// One who observes a query, until it is released.
final class ValueFollower: Sendable {
  private let observation = Mutex<AnyDatabaseCancellable?>(nil)
  private let leave: @Sendable () -> Void

  init(leave: @escaping @Sendable () -> Void) { self.leave = leave }

  func observe(_ observation: AnyDatabaseCancellable) { self.observation.withLock { $0 = observation } }

  func cancel() {
    let observation = observation.withLock { observation in
      defer { observation = nil }
      return observation
    }
    observation?.cancel()
  }

  deinit {
    leave()
    cancel()
  }
}
