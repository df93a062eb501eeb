import GRDB
import GRDBSQLite
import TallyCRDT

extension Store {
  /// Lets the app run transactions of its own on the writing connection, and captures afterwards what they wrote.
  /// - Returns: what the body returned, and why the access was undone; nil if it was not.
  func direct<T>(_ db: Database, _ updates: (Database) throws -> T) rethrows -> (value: T, refusal: StoreError?) {
    // Inside a write they are part of that; inside another such access that one captures.
    guard let session = box.session, !session.isOpen, !session.isStandingBack else { return (try updates(db), nil) }
    if box.needsReload.exchange(false, ordering: .relaxed) { session.invalidate() }
    let access = DirectAccess(self, db, session)
    do {
      let value = try updates(db)
      return (value, access.end())
    } catch {
      // All else is in the log: this came first.
      _ = access.end()
      throw error
    }
  }

  /// The same where an access that was undone can say so.
  func strictly<T>(_ db: Database, _ updates: (Database) throws -> T) throws -> T {
    let (value, refusal) = try direct(db, updates)
    if let refusal { throw refusal }
    return value
  }

  /// Runs a transaction of the app's that is captured in itself, for one who is on the writing connection's queue.
  func commit<T>(on db: Database, _ body: (Database) throws -> T) throws -> Commit<T> {
    do {
      let commit = try inTransaction(db) { try transact(db, body) }
      turns.end()
      announce(commit)
      return commit
    } catch {
      box.needsReload.store(true, ordering: .relaxed)
      throw explain(error)
    }
  }
}

/// One access in which the app begins and ends transactions itself: `writeWithoutTransaction` and its kin.
///
/// SQLite has no moment right before a COMMIT at which the connection may still write: a commit hook must not
/// (https://www.sqlite.org/c3ref/commit_hook.html). So what is written here cannot be captured in its own transaction.
/// The file's triggers note it there, as they do for another program, so that it cannot get lost, and the access ends
/// with a transaction of the store's that captures the notes.
private struct DirectAccess {
  private let store: Store
  private let db: Database
  private let session: WritingSession
  private let schemaVersion: Int?
  private let mark: StoreMark?
  /// The content of the file before an access that puts something else in its place.
  private let before: HeldSnapshot?

  init(_ store: Store, _ db: Database, _ session: WritingSession) {
    (self.store, self.db, self.session) = (store, db, session)
    session.standBack()
    var (mark, version, before): (StoreMark?, Int?, HeldSnapshot?)
    do {
      mark = try StoreMark(session.connection)
      version = try session.connection.integer("PRAGMA schema_version")
      before = try store.snapshots?.hold()
    } catch {
      // A file that is busy or cannot be read says so to the app's own statements as well.
      store.options.logger.warning("an access cannot be watched", metadata: ["error": "\(error)"])
    }
    (self.mark, schemaVersion, self.before) = (mark, version, before)
  }

  /// - Returns: why the access was undone; nil if it was not.
  func end() -> StoreError? {
    session.comeBack()
    defer { giveBack() }
    // GRDB ends the program for it. What it has written is captured when it is committed.
    guard !session.connection.isInTransaction else { return nil }
    do {
      // A migrator switches them off for a while.
      if store.configuration.foreignKeysEnabled { try session.connection.execute("PRAGMA foreign_keys = ON") }
      let now = try StoreMark.find(session.connection)
      guard let mark else { return nil }
      guard let now, now.vector.covers(mark.vector) else { return try undo() }
      try capture(isRenewed: now.replica != mark.replica)
    } catch {
      store.box.needsReload.store(true, ordering: .relaxed)
      store.options.logger.warning(
        "what an access wrote waits to be captured by the next transaction", metadata: ["error": "\(error)"])
    }
    return nil
  }

  /// Captures what the access wrote. If `isRenewed`, the file says that it is another replica's than before: another
  /// process has drawn the id meanwhile, or the content is that of another store, which has no token, or not the one
  /// beside the file. Of another store's content it takes a new replica id first.
  private func capture(isRenewed: Bool) throws {
    let hasNewSchema = try session.connection.integer("PRAGMA schema_version") != schemaVersion
    guard try isRenewed || hasNewSchema || session.reader.hasPendingWrites() else { return }
    let isTold = isRenewed && store.options.detectsCopies
    let incarnation = isTold ? store.file.map { Incarnation(besides: $0, store.options.files, isExpected: true) } : nil
    let commit = try store.inTransaction(db) {
      try store.withSession(db, opening: incarnation) { session in
        if isRenewed {
          try session.transaction { transaction in
            if let incarnation { return try transaction.renew(incarnation) }
            // Without a token nothing tells one from the other.
            try transaction.renewReplica(because: "the file's content was replaced while it was open")
          }
        }
        return ((), nil)
      }
    }
    store.turns.end()
    store.announce(commit)
  }

  /// Puts back what the file held before the access.
  private func undo() throws -> StoreError {
    let reason = "the store's content was replaced by another database"
    try before?.putBack(db)
    session.invalidate()
    let outcome = before == nil ? "it was in memory and is lost" : "the previous content was restored"
    store.options.logger.critical("\(reason): \(outcome)")
    return StoreError(.wouldReplaceStore, "\(reason): \(outcome)")
  }

  private func giveBack() {
    do {
      try before?.end()
    } catch {
      store.options.logger.warning("a connection could not be closed", metadata: ["error": "\(error)"])
    }
  }
}

/// The mark that distinguishes a store's content from that of another file.
private struct StoreMark {
  var vector = StateVector()
  var replica: [UInt8]?

  init(_ connection: Connection) throws {
    let known = try connection.statement(
      "SELECT id, sequence FROM tally_vector JOIN tally_replica ON n = replica WHERE zone = 0")
    while try known.step() { vector[ReplicaID(known.blob(0))] = try known.sequence(1) }
    for entry in try LogTail.load(connection).vector {
      let id = try connection.statement("SELECT id FROM tally_replica WHERE n = ?")
      id.bind(1, entry.replica)
      defer { id.reset() }
      if try id.step() { vector[ReplicaID(id.blob(0))] = entry.sequence }
    }
    let own = try connection.statement(
      "SELECT id FROM tally_replica WHERE n = (SELECT value FROM tally_meta WHERE key = 'self')")
    defer { own.reset() }
    if try own.step() { replica = own.blob(0) }
  }

  /// The mark of what the file holds now; nil if that is no store.
  static func find(_ connection: Connection) throws -> StoreMark? {
    guard try connection.integer("PRAGMA application_id") == Format.applicationID else { return nil }
    let tables = try connection.integer(
      "SELECT count(*) FROM sqlite_master WHERE name IN ('tally_meta', 'tally_replica', 'tally_vector', 'tally_pending')"
    )
    return tables == 4 ? try StoreMark(connection) : nil
  }
}
