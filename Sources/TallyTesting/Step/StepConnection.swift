import Synchronization
import TallySync

/// One end of a connection on which nothing moves by itself: what is sent waits until it is delivered.
package final class StepConnection: SyncConnection {
  private struct State {
    /// The messages that were sent and are on their way.
    var sent: [[UInt8]] = []
    /// The messages that have arrived and were not taken.
    var arrived: [[UInt8]] = []
    var isClosed = false
    /// Whether the other end has closed, after all that has arrived.
    var isOver = false
    /// Whether the end of what is sent is on its way as well.
    var endsThere = false
    var isCut = false
    var sender: CheckedContinuation<Void, Never>?
    var receiver: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())
  /// The number of messages that may be on their way before a sender waits.
  private let capacity: Int

  package init(capacity: Int = .max) { self.capacity = capacity }

  // MARK: As a session sees it

  package func send(_ message: [UInt8]) async throws {
    while true {
      try Task.checkCancellation()
      let isSent = try state.withLock { state in
        guard !state.isCut, !state.isClosed, !state.isOver else {
          throw SyncError(.disconnected, "the connection is closed")
        }
        guard state.sent.count < capacity else { return false }
        state.sent.append(message)
        return true
      }
      if isSent { return }
      await wait(for: \.sender) { $0.isCut || $0.isClosed || $0.isOver || $0.sent.count < self.capacity }
    }
  }

  package func receive() async throws -> [UInt8]? {
    while true {
      try Task.checkCancellation()
      let found: [UInt8]?? = try state.withLock { state in
        guard state.arrived.isEmpty else { return .some(state.arrived.removeFirst()) }
        if state.isClosed || state.isOver { return .some(nil) }
        if state.isCut { throw SyncError(.disconnected, "the connection broke") }
        return nil
      }
      if let found { return found }
      await wait(for: \.receiver) { !$0.arrived.isEmpty || $0.isClosed || $0.isOver || $0.isCut }
    }
  }

  package func close() async {
    change { state in
      (state.endsThere, state.isClosed) = (state.endsThere || !state.isClosed, true)
      state.arrived = []
    }
  }

  // MARK: As its owner sees it

  /// The number of messages on their way to the other end.
  package var sentCount: Int { state.withLock { $0.sent.count } }

  /// The number of messages that wait here to be taken.
  package var arrivedCount: Int { state.withLock { $0.arrived.count } }

  /// Whether something is on its way to the other end: a message, or the news that this one has closed.
  package var hasNews: Bool { state.withLock { !$0.isCut && (!$0.sent.isEmpty || $0.endsThere) } }

  /// Lets the next message, or the end, arrive at the other end.
  package func deliver(to other: StepConnection) {
    var message: [UInt8]?
    var isEnd = false
    change { state in
      if state.sent.isEmpty {
        (isEnd, state.endsThere) = (state.endsThere, false)
      } else {
        message = state.sent.removeFirst()
      }
    }
    if let message { other.arrive(message) }
    if isEnd { other.change { $0.isOver = true } }
  }

  /// Lets a message arrive here, from any sender.
  package func arrive(_ message: [UInt8]) {
    change { state in
      if !state.isClosed { state.arrived.append(message) }
    }
  }

  /// Takes the next message that is on its way from here.
  package func take() -> [UInt8]? {
    var message: [UInt8]?
    change { state in
      if !state.sent.isEmpty { message = state.sent.removeFirst() }
    }
    return message
  }

  /// Breaks this end: what was on its way is lost.
  package func cut() {
    change { state in
      (state.isCut, state.sent, state.endsThere) = (true, [], false)
    }
  }

  // MARK: Waiting

  private func change(_ body: (inout State) -> Void) {
    let waiting = state.withLock { state in
      body(&state)
      defer { (state.sender, state.receiver) = (nil, nil) }
      return [state.sender, state.receiver]
    }
    for continuation in waiting { continuation?.resume() }
  }

  private func wait(
    for place: WritableKeyPath<State, CheckedContinuation<Void, Never>?> & Sendable,
    until isReady: @escaping @Sendable (State) -> Bool
  ) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mayGoOn = state.withLock { state in
          guard !isReady(state), !Task.isCancelled else { return true }
          state[keyPath: place] = continuation
          return false
        }
        if mayGoOn { continuation.resume() }
      }
    } onCancel: {
      change { _ in }
    }
  }
}
