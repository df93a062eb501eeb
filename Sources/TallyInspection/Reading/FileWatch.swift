import GRDB
import GRDBSQLite
import TallyStore

/// Notices what other connections and processes commit to a store's file, by asking.
///
/// One connection of its own, which reads nothing but a counter of SQLite's.
package final class FileWatch: Sendable {
  private let queue: DatabaseQueue

  /// Watches the file of a store.
  /// - Returns: nil for a store in memory, which no other process can write to.
  package init?(_ store: Store) throws {
    guard let file = store.file else { return nil }
    var configuration = Configuration()
    configuration.readonly = true
    configuration.label = "tally.watch"
    queue = try DatabaseQueue(path: file, configuration: configuration)
  }

  /// A number that differs from the last one if anybody has committed since. Costs some microseconds.
  package func version() throws -> Int {
    // https://sqlite.org/pragma.html#pragma_data_version
    try queue.unsafeRead { try Int.fetchOne($0, sql: "PRAGMA data_version") ?? 0 }
  }

  /// Closes the connection.
  package func close() throws { try queue.close() }
}

extension Store {
  /// Whether the store's path still leads to the file that is open: it was not deleted, renamed or replaced. True for a
  /// store in memory.
  package func isInPlace() throws -> Bool {
    guard file != nil else { return true }
    return try read { db in
      var hasMoved: Int32 = 0
      // https://sqlite.org/c3ref/c_fcntl_begin_atomic_write.html
      let result = sqlite3_file_control(try db.handle(), "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
      return result != SQLITE_OK || hasMoved == 0
    }
  }
}
