import GRDBSQLite
import Synchronization

/// Decides after each commit whether to copy the write-ahead log into the database file.
///
/// It does once the log has four thousand pages, some 16 MiB. A commit of one change writes three or four pages where
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
  /// Pages; SQLite's default is 1,000.
  private static let least: Int32 = 4000
  /// The number of pages in the log from which on the next checkpoint is tried.
  private let next = Atomic(CheckpointPacer.least)

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
    guard pages >= Self.least else { return next.store(Self.least, ordering: .relaxed) }
    guard pages >= next.load(ordering: .relaxed) else { return }
    var (inLog, copied): (Int32, Int32) = (0, 0)
    // What fails is tried again: the commit is done, and nothing depends on the checkpoint.
    let status = sqlite3_wal_checkpoint_v2(connection, database, SQLITE_CHECKPOINT_PASSIVE, &inLog, &copied)
    let isCopied = status == SQLITE_OK && copied == inLog
    next.store(isCopied ? Self.least : pages + pages / 4, ordering: .relaxed)
  }
}
