import GRDB

/// Notices what other connections and processes commit to a store's file, by asking.
///
/// One connection of its own, which reads nothing but a counter of SQLite's.
package final class FileWatch: Sendable {
  private let queue: DatabaseQueue

  /// Watches the file of a store.
  /// - Returns: nil for a store in memory, which nobody else can write to.
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
