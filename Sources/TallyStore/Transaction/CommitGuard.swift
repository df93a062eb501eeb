import GRDB

/// Notices when the app ends a transaction inside `Store.write`, with COMMIT or ROLLBACK of its own: what it wrote
/// would be in the file without ever having been captured. A commit is refused, so that SQLite rolls back. The same
/// holds for writes between two transactions of the store's, in `afterNextTransaction` or by an observer. It also
/// notices when a write is about to make triggers, so that they fire, or to change a table's columns.
final class CommitGuard: TransactionObserver {
  private weak var session: WritingSession?

  init(_ session: WritingSession) { self.session = session }

  /// Asked before each statement, with what it will write to.
  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
    switch eventKind {
    case .insert(tableName: "sqlite_master"): session?.expectTriggers()
    case .update(tableName: "sqlite_master", columnNames: _): session?.expectMovedColumns()
    default: session?.lookForMovedColumns()
    }
    return false
  }

  func databaseDidChange(with event: DatabaseEvent) {}

  func databaseWillCommit() throws {
    guard let session, session.isOpen || session.hasUncapturedNotes else { return }
    throw StoreError(
      .transactionEnded,
      session.isOpen
        ? "a write of the store's was committed before it was captured"
        : "what is written after a transaction, as by an observer of it, is not captured: write in one of the store's")
  }

  func databaseDidCommit(_ db: Database) {}
  func databaseDidRollback(_ db: Database) { session?.noteEnd() }
}

/// Refuses every commit on the connection of a store that is closed, for writes that have waited for it: the file may
/// not be the store's any more.
final class ClosedGuard: TransactionObserver {
  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseWillCommit() throws { throw Store.closed }
  func databaseDidCommit(_ db: Database) {}
  func databaseDidRollback(_ db: Database) {}
}
