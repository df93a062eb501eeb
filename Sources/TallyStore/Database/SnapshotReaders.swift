import GRDB
import Synchronization

/// Connections that read states, each with statements that stay prepared.
///
/// GRDB's readers are for the app's reads. Its way to one, and into and out of a transaction there, costs more than a
/// small delta. These are GRDB's connections too, configured alike, but the transactions on them are SQLite's own.
final class SnapshotReaders: Sendable {
  private struct Idle {
    var readers: [Reader] = []
    var isClosed = false
  }

  /// Confined to its queue while it is in use, and to nobody while it is idle.
  private final class Reader: @unchecked Sendable {
    let queue: DatabaseQueue
    let connection: Connection

    init(_ queue: DatabaseQueue) throws {
      self.queue = queue
      connection = try queue.unsafeRead { Connection(try StoreFile.handle($0)) }
    }

    func close() throws {
      connection.forgetStatements()
      try queue.close()
    }
  }

  private let idle = Mutex(Idle())
  private let open: @Sendable () throws -> DatabaseQueue
  /// More are opened when more are needed at once, and closed afterwards.
  private static let limit = 2

  init(_ open: @escaping @Sendable () throws -> DatabaseQueue) { self.open = open }

  /// Reads in one snapshot.
  /// - Throws: `StoreError.closed` after `close()`; what the body throws.
  func read<T>(_ body: (Connection) throws -> T) throws -> T {
    let reader = try take()
    do {
      let value = try reader.queue.unsafeRead { _ in
        defer { reader.connection.resetStatements() }
        return try reader.connection.inReadTransaction { try body(reader.connection) }
      }
      try give(reader)
      return value
    } catch {
      // Whatever state it is in, nobody else gets it.
      try? reader.close()
      throw error
    }
  }

  private func take() throws -> Reader {
    let known = try idle.withLock { idle in
      guard !idle.isClosed else { throw StoreError(.closed, "the store is closed") }
      return idle.readers.popLast()
    }
    return try known ?? Reader(open())
  }

  private func give(_ reader: Reader) throws {
    let isKept = idle.withLock { idle in
      guard !idle.isClosed, idle.readers.count < Self.limit else { return false }
      idle.readers.append(reader)
      return true
    }
    if !isKept { try reader.close() }
  }

  /// Closes the connections that nobody is using; those in use are closed after it.
  func close() throws {
    let readers = idle.withLock { idle in
      idle.isClosed = true
      defer { idle.readers = [] }
      return idle.readers
    }
    for reader in readers { try reader.close() }
  }

  deinit { for reader in idle.withLock({ $0.readers }) { reader.connection.forgetStatements() } }
}
