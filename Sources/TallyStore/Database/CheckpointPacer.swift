import GRDBSQLite
import Synchronization

/// Decides after each commit whether to copy the write-ahead log into the database file.
///
/// It does once the log has four thousand pages of four kilobytes, some 16 MiB; as many of smaller pages, and of larger
/// ones as many as take the same room, but a thousand at least. A commit of one change writes three or four pages where
/// plain SQLite writes one, so this is as many commits, and syncs to the disk, as SQLite's thousand pages are there.
///
/// SQLite's own rule tries again after every commit once the log is long. While a reader holds an old snapshot, such a
/// checkpoint sorts the whole log and copies next to nothing, so the cost of a commit grows with the log: with plain
/// SQLite, 20,000 commits of a page beside an open snapshot take twenty times the processor time that they take without
/// the tries. This one waits until the log has grown by a quarter since a checkpoint that did not reach its end, so the
/// cost of failed checkpoints stays in proportion to what is written. What a checkpoint does is the same (`PASSIVE`).
///
/// `PRAGMA wal_autocheckpoint` on the connection puts SQLite's rule back.
package final class CheckpointPacer: Sendable {
  /// SQLite's default, in pages.
  private static let fewest: Int32 = 1000
  /// What benchmarks give to what they compare a store with.
  package static let most: Int32 = 4000
  private static let bytes: Int32 = 1 << 24
  /// The number of pages from which on a checkpoint is made; 0 until the size of a page is known.
  private let least = Atomic<Int32>(0)
  /// The number of pages in the log from which on the next checkpoint is tried.
  private let next = Atomic(CheckpointPacer.fewest)

  package init() {}

  /// Takes the place of SQLite's rule. The pacer must live as long as the connection.
  package func follow(_ connection: OpaquePointer) {
    sqlite3_wal_hook(
      connection,
      { context, connection, database, pages in
        guard let context else { return SQLITE_OK }
        Unmanaged<CheckpointPacer>.fromOpaque(context).takeUnretainedValue().note(pages, connection, database)
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  private func note(_ pages: Int32, _ connection: OpaquePointer?, _ database: UnsafePointer<CChar>?) {
    // The log was restarted.
    guard pages >= Self.fewest else { return next.store(Self.fewest, ordering: .relaxed) }
    let least = least(connection)
    guard pages >= least else { return }
    guard pages >= next.load(ordering: .relaxed) else { return }
    var (inLog, copied): (Int32, Int32) = (0, 0)
    // What fails is tried again: the commit is done, and nothing depends on the checkpoint.
    let status = sqlite3_wal_checkpoint_v2(connection, database, SQLITE_CHECKPOINT_PASSIVE, &inLog, &copied)
    let isCopied = status == SQLITE_OK && copied == inLog
    next.store(isCopied ? least : pages + pages / 4, ordering: .relaxed)
  }

  /// A file keeps the size of its pages while it has a write-ahead log.
  private func least(_ connection: OpaquePointer?) -> Int32 {
    let known = least.load(ordering: .relaxed)
    guard known == 0 else { return known }
    var query: OpaquePointer?
    defer { sqlite3_finalize(query) }
    guard sqlite3_prepare_v2(connection, "PRAGMA page_size", -1, &query, nil) == SQLITE_OK,
      sqlite3_step(query) == SQLITE_ROW, case let size = sqlite3_column_int(query, 0), size > 0
    else { return Self.fewest }
    let found = min(max(Self.bytes / size, Self.fewest), Self.most)
    least.store(found, ordering: .relaxed)
    return found
  }
}
