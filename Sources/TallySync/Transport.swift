/// A connection to one peer that carries whole messages, in order, each once or not at all.
///
/// A transport has nothing to know of what it carries. It may be used by one task for sending and one for receiving at a time.
///
/// - `send` returns when the message is on its way, and waits while the peer is slow.
/// - `receive` gives the next message; nil when the peer has closed in order; it throws when the connection broke.
/// - After `close`, and when the task is cancelled, both end soon.
public protocol SyncConnection: Sendable {
  /// Sends one message of at most `SyncLimits.messageBytes`.
  func send(_ message: [UInt8]) async throws
  /// The next message; nil at an orderly end.
  func receive() async throws -> [UInt8]?
  /// Closes both directions. May be called more than once.
  func close() async
}

/// A way to reach one peer, again and again.
public protocol Transport: Sendable {
  /// What to call the peer in logs and status.
  var name: String { get }
  /// Opens a connection.
  /// - Throws: what keeps it from being opened; the engine tries again later.
  func open() async throws -> any SyncConnection
}

/// Two connected ends in memory, for tests and for stores of one process.
public final class MemoryConnection: SyncConnection {
  private let inbox: MessageQueue
  private let outbox: MessageQueue

  private init(inbox: MessageQueue, outbox: MessageQueue) {
    self.inbox = inbox
    self.outbox = outbox
  }

  /// Two ends of one connection.
  /// - Parameter capacity: how many messages one side may be ahead of the other.
  public static func pair(capacity: Int = 16) -> (MemoryConnection, MemoryConnection) {
    let (a, b) = (MessageQueue(capacity: capacity), MessageQueue(capacity: capacity))
    return (MemoryConnection(inbox: a, outbox: b), MemoryConnection(inbox: b, outbox: a))
  }

  /// Puts a message into the other end's inbox; waits while that is full.
  public func send(_ message: [UInt8]) async throws { try await outbox.put(message) }
  /// Takes a message out of the inbox.
  public func receive() async throws -> [UInt8]? { await inbox.take() }
  /// Closes both ends; what is under way can still be received.
  public func close() async {
    await outbox.close()
    await inbox.close()
  }
}

/// A bounded queue of messages between two tasks.
actor MessageQueue {
  private var messages: [[UInt8]] = []
  private var isClosed = false
  private let capacity: Int
  private var takers: [CheckedContinuation<Void, Never>] = []
  private var putters: [CheckedContinuation<Void, Never>] = []

  init(capacity: Int) { self.capacity = capacity }

  func put(_ message: [UInt8]) async throws {
    while messages.count >= capacity, !isClosed {
      await withCheckedContinuation { putters.append($0) }
    }
    guard !isClosed else { throw SyncError(.disconnected, "the connection is closed") }
    messages.append(message)
    wake(&takers)
  }

  func take() async -> [UInt8]? {
    while messages.isEmpty, !isClosed {
      await withCheckedContinuation { takers.append($0) }
    }
    guard !messages.isEmpty else { return nil }
    defer { wake(&putters) }
    return messages.removeFirst()
  }

  func close() {
    isClosed = true
    wake(&takers)
    wake(&putters)
  }

  private func wake(_ waiting: inout [CheckedContinuation<Void, Never>]) {
    let all = waiting
    waiting = []
    for continuation in all { continuation.resume() }
  }
}
