import GRDB
import GRDBSQLite
import Synchronization

/// The content of a file at one moment, kept through later changes.
struct HeldSnapshot {
  fileprivate let queue: DatabaseQueue
  fileprivate let giveBack: () throws -> Void

  fileprivate init(queue: DatabaseQueue, giveBack: @escaping () throws -> Void) {
    (self.queue, self.giveBack) = (queue, giveBack)
  }

  /// Makes it the content of a database again.
  func putBack(_ database: Database) throws { try queue.unsafeRead { try $0.backup(to: database) } }

  /// Ends it, so that the write-ahead log can shrink.
  func end() throws { try giveBack() }
}

/// Connections that read states, each with statements that stay prepared.
///
/// GRDB's readers are for the app's reads. Its way to one, and into and out of a transaction there, costs more than a
/// small delta. These are GRDB's connections too, configured alike, but the transactions on them are SQLite's own.
final class SnapshotReaders: Sendable {
  private struct Idle {
    var readers: [Reader] = []
    /// The number in use.
    var count = 0
    var isClosed = false
  }

  /// Confined to its queue while it is in use, and to no one while it is idle.
  private final class Reader: @unchecked Sendable {
    let queue: DatabaseQueue
    let connection: Connection

    init(_ queue: DatabaseQueue) throws {
      self.queue = queue
      connection = try queue.unsafeRead { db in
        let handle = try db.handle()
        // GRDB asks what statements of its own read, and runs none here. To be asked takes longer than to prepare them.
        sqlite3_set_authorizer(handle, nil, nil)
        return Connection(handle)
      }
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
    try use { connection in
      defer { connection.resetStatements() }
      return try connection.inReadTransaction { try body(connection) }
    }
  }

  /// Does something with a connection, in no transaction.
  /// - Throws: `StoreError.closed` after `close()`; what the body throws.
  func use<T>(_ body: (Connection) throws -> T) throws -> T {
    let reader = try take()
    let value: T
    do {
      value = try reader.queue.unsafeRead { _ in try body(reader.connection) }
    } catch {
      drop(reader)
      throw error
    }
    try give(reader)
    return value
  }

  /// Closes a connection with which something went wrong. In any state, no other caller gets it, and an error of
  /// closing it is not the one to report.
  private func drop(_ reader: Reader) {
    try? reader.close()
    idle.withLock { $0.count -= 1 }
  }

  /// Waits until the write-ahead log is on the disk. No statement runs, so that it need not be done on the connection's
  /// queue.
  /// - Throws: `StoreError.closed` after `close()`; `DatabaseError` if it fails.
  func syncLog() throws {
    let reader = try take()
    do {
      try reader.connection.syncLog()
    } catch {
      drop(reader)
      throw error
    }
    try give(reader)
  }

  /// Where the file is now; nil if no connection is idle that has read, or if it cannot be told without reading.
  func position() -> LogPosition? {
    // No caller takes the connection as long as the lock is held.
    idle.withLock { idle in idle.isClosed ? nil : idle.readers.last?.connection.logPosition() }
  }

  /// Returns the present content of the file, kept readable until it is given back.
  /// - Throws: `StoreError.closed` after `close()`; GRDB's `DatabaseError`.
  func hold() throws -> HeldSnapshot {
    let reader = try take()
    do {
      try reader.queue.unsafeRead { _ in
        // A statement that has not come to its end keeps SQLite's read transaction. There is more than one row.
        _ = try reader.connection.statement("SELECT 1 FROM sqlite_master").step()
      }
    } catch {
      drop(reader)
      throw error
    }
    return HeldSnapshot(queue: reader.queue) { [self] in
      reader.connection.resetStatements()
      try give(reader)
    }
  }

  private func take() throws -> Reader {
    let known = try idle.withLock { idle in
      guard !idle.isClosed else { throw StoreError(.closed, "the store is closed") }
      idle.count += 1
      return idle.readers.popLast()
    }
    do {
      return try known ?? Reader(open())
    } catch {
      idle.withLock { $0.count -= 1 }
      throw error
    }
  }

  private func give(_ reader: Reader) throws {
    let isKept = idle.withLock { idle in
      idle.count -= 1
      guard !idle.isClosed, idle.readers.count < Self.limit else { return false }
      idle.readers.append(reader)
      return true
    }
    if !isKept { try reader.close() }
  }

  /// Closes the connections.
  /// - Throws: `DatabaseError` with SQLITE_BUSY if one is in use; then all stay open.
  func close() throws {
    let readers = try idle.withLock { idle in
      guard idle.count == 0 else {
        throw DatabaseError(resultCode: .SQLITE_BUSY, message: "the store is being read")
      }
      idle.isClosed = true
      defer { idle.readers = [] }
      return idle.readers
    }
    for reader in readers { try reader.close() }
  }

  /// Takes back that they are closed: the store could not be.
  func reopen() { idle.withLock { $0.isClosed = false } }

  deinit { for reader in idle.withLock({ $0.readers }) { reader.connection.forgetStatements() } }
}
