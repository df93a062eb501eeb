import Synchronization

/// One of two connected ends in memory, for tests and for stores of one process.
public final class MemoryConnection: SyncConnection {
  private let inbox: MessageQueue
  private let outbox: MessageQueue

  private init(inbox: MessageQueue, outbox: MessageQueue) {
    self.inbox = inbox
    self.outbox = outbox
  }

  /// Creates the two ends of one connection.
  /// - Parameter capacity: the number of messages by which one side may be ahead of the other.
  /// - Returns: the two ends, which are equivalent: each receives what the other sends.
  public static func pair(capacity: Int = 16) -> (MemoryConnection, MemoryConnection) {
    let (a, b) = (MessageQueue(capacity: capacity), MessageQueue(capacity: capacity))
    return (MemoryConnection(inbox: a, outbox: b), MemoryConnection(inbox: b, outbox: a))
  }

  /// Puts a message into the other end's inbox, and waits while the inbox is full.
  public func send(_ message: [UInt8]) async throws {
    try FrameDecoder.check(message)
    try await outbox.put(message)
  }

  /// Returns the next message from the inbox; nil once the other end has closed.
  public func receive() async throws -> [UInt8]? { try await inbox.take() }

  /// Closes both ends. The other end can still receive messages that are under way.
  public func close() async {
    outbox.end()
    inbox.drop()
  }
}

/// A bounded queue of messages between two tasks.
final class MessageQueue: Sendable {
  private struct State {
    var messages: [[UInt8]] = []
    var isClosed = false
    var nextID = 0
    /// The tasks that wait for a message or for room; woken all at once, each looks again.
    var waiting: [Int: @Sendable () -> Void] = [:]
  }

  private let state = Mutex(State())
  private let capacity: Int

  init(capacity: Int) { self.capacity = max(1, capacity) }

  func put(_ message: [UInt8]) async throws {
    try await wait { [capacity] (state) -> Void? in
      guard !state.isClosed else { throw SyncError(.disconnected, "the connection is closed") }
      guard state.messages.count < capacity else { return nil }
      return state.messages.append(message)
    }
  }

  func take() async throws -> [UInt8]? {
    try await wait { (state) -> [UInt8]?? in
      guard state.messages.isEmpty else { return .some(state.messages.removeFirst()) }
      return state.isClosed ? .some(nil) : nil
    }
  }

  /// Takes no more messages.
  func end() {
    state.withLock { $0.isClosed = true }
    wakeAll()
  }

  /// The messages will not be taken.
  func drop() {
    state.withLock { ($0.messages, $0.isClosed) = ([], true) }
    wakeAll()
  }

  /// Waits until `body` has a result.
  private func wait<T: Sendable>(for body: @escaping @Sendable (inout State) throws -> T?) async throws -> T {
    while true {
      let id = state.withLock { state in
        defer { state.nextID += 1 }
        return state.nextID
      }
      let result: Result<T, any Error>? = await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let result = state.withLock { state in
            let result = Self.look(&state, body)
            if result == nil { state.waiting[id] = { continuation.resume(returning: nil) } }
            return result
          }
          if let result { continuation.resume(returning: result) }
        }
      } onCancel: {
        wake(id)
      }
      guard let result else { continue }
      wakeAll()
      return try result.get()
    }
  }

  private static func look<T>(_ state: inout State, _ body: (inout State) throws -> T?) -> Result<T, any Error>? {
    guard !Task.isCancelled else { return .failure(CancellationError()) }
    do {
      return try body(&state).map { .success($0) }
    } catch {
      return .failure(error)
    }
  }

  private func wake(_ id: Int) { state.withLock { $0.waiting.removeValue(forKey: id) }?() }

  private func wakeAll() {
    let waiting = state.withLock { state in
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for resume in waiting { resume() }
  }
}
