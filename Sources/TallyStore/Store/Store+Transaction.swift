import GRDB
import TallyCRDT
import TallyWire

// The ways into the one writing connection: a transaction of the app's that is captured, and those of the store's own.
extension Store {
  /// Runs a writing transaction, of which `follower` need not be told; if it fails the engine reads everything again
  /// next time.
  @discardableResult
  func perform<T>(by follower: ChangeFollower? = nil, _ body: (Database) throws -> Commit<T>) throws -> Commit<T> {
    do {
      turns.wait()
      let commit = try usable.writeWithoutTransaction { db in try inTransaction(db) { try body(db) } }
      turns.end()
      announce(commit, by: follower)
      return commit
    } catch {
      box.needsReload.store(true, ordering: .relaxed)
      throw explain(error)
    }
  }

  /// Runs a transaction, for one who is on the writing connection's queue. If it fails, be it at its COMMIT, the
  /// session forgets what it knows before anybody else has the queue: what it has taken over is not in the file.
  ///
  /// The BEGIN and COMMIT of GRDB's `inTransaction` are compiled each time, which costs as much as joining a small
  /// delta. These stay prepared. Where SQLite has rolled back because of an error (`OR ROLLBACK`) and the app goes on
  /// all the same, GRDB would refuse each statement; here `CommitGuard` refuses what they write, and a transaction that
  /// they begin is rolled back at the end.
  func inTransaction<T>(_ db: Database, _ body: () throws -> T) throws -> T {
    do {
      try db.cachedStatement(sql: "BEGIN IMMEDIATE TRANSACTION").execute()
      let start = applying.starts.count
      let value = try body()
      guard applying.starts.count == start else {
        throw StoreError(
          .transactionEnded, "an error has rolled the transaction back inside the write, and another one was begun")
      }
      try db.cachedStatement(sql: "COMMIT TRANSACTION").execute()
      box.session?.commitEdits()
      return value
    } catch {
      // First, since an observer that is told of the rollback may write. What went wrong first is what is thrown.
      box.session?.invalidate()
      if db.isInsideTransaction { try? db.rollback() }
      throw error
    }
  }

  func announce<T>(_ commit: Commit<T>, by follower: ChangeFollower? = nil) {
    noteLatest(commit.outcome)
    eventFollowers.publish(commit.events)
    if commit.outcome.isChanged || commit.outcome.hasForeignCommits {
      listeners.notify(but: commit.outcome.hasForeignCommits ? nil : follower)
    }
  }

  /// Runs the app's writes in a transaction that captures them.
  func transact<T>(_ db: Database, _ body: (Database) throws -> T) throws -> Commit<T> {
    try withSession(db) { session in
      let value = try session.listen { try body(db) }
      let dot = try session.transaction { transaction in
        try transaction.capture(.app)
        return transaction
      }.dot
      return (value, dot ?? session.interludeDot)
    }
  }

  /// Runs a transaction of the store's own: a merge, a restore, seeds.
  @discardableResult
  func replicate<T>(by follower: ChangeFollower? = nil, _ body: (WriteTransaction) throws -> T) throws -> Commit<T> {
    try perform(by: follower) { db in
      try withSession(db) { session in (try session.transaction(body), nil) }
    }
  }

  /// Moves the newest entries of the vector and of the change log into their tables, for readers of these by SQL. With
  /// `sweeping` sweeps the whole log, which happens by itself when it has grown: reads and writes all of it.
  package func flushTail(sweeping: Bool = false) throws { _ = try replicate { try $0.flushTail(sweeping: sweeping) } }

  /// Joins a delta: all of it, or nothing. `nextBlock` gives the blocks in order, and nil at the end. With
  /// `refusesMismatch` nothing is joined that leaves other content here than the sender has at the same vector, unless
  /// it is a repair. `notes` are noted in the same transaction.
  func join(
    _ header: DeltaHeader, isRepair: Bool, refusesMismatch: Bool = false, by follower: ChangeFollower? = nil,
    noting notes: NoteBatch? = nil, _ nextBlock: () throws -> BlockDraft?
  ) throws -> Commit<ApplyResult> {
    let commit = try noticingDamage {
      try perform(by: follower) { db in
        try withSession(db) { session in
          var result = try session.transaction(by: .peer) { try $0.apply(header, isRepair: isRepair, nextBlock) }
          if let theirs = header.fingerprint, header.target == session.standing.vector {
            result.fingerprintMismatch = theirs != session.standing.fingerprint
          }
          guard !result.fingerprintMismatch || !refusesMismatch || isRepair else {
            throw StoreError(.contentsDiffer, "both sides would have seen the same and hold something else")
          }
          if let notes { try NoteTable(session.connection).write(notes) }
          return (result, nil)
        }
      }
    }
    if commit.value.hasRemoved { finishRemovalsIfPossible() }
    return commit
  }

  func withSession<T>(
    _ db: Database, opening incarnation: Incarnation? = nil, _ body: (WritingSession) throws -> (T, Dot?)
  ) throws -> Commit<T> {
    let session = try session(db)
    turns.begin()
    let before = position
    do {
      let isUnchanged = before != nil && latest.withLock { $0?.position == before }
      try session.begin(buffers: before != nil, isUnchanged: isUnchanged, opening: incarnation)
      let (value, dot) = try body(session)
      try session.finish()
      if session.isChanged { logRoom.make(session.connection) }
      if session.hasForeignCommits {
        try db.notifyChanges(in: .fullDatabase)
      } else {
        for table in session.writer.touchedTables { try db.notifyChanges(in: Table(table)) }
        if session.writer.touchesDeleted {
          for table in Self.deletedTables { try db.notifyChanges(in: Table(table)) }
        }
      }
      return Commit(
        value: value, dot: dot, events: session.events, outcome: CommitOutcome(of: session, before: before))
    } catch {
      session.invalidate()
      throw error
    }
  }

  private func session(_ db: Database) throws -> WritingSession {
    if let session = box.session {
      if box.needsReload.exchange(false, ordering: .relaxed) { session.invalidate() }
      return session
    }
    // A write that had begun to wait for the queue before the store was closed may come to it after the session has
    // gone: statements that a new one prepared would keep the connection open.
    _ = try usable
    let opening = try box.opening ?? (Connection(on: db), nil)
    box.opening = nil
    let session = try WritingSession(
      opening.connection, options.environment, applying, catalogCache.withLock { $0 }, opening.shape)
    session.hasFollowed = { [box] in box.followedSchema.store($0, ordering: .relaxed) }
    session.lastGiven = { [weak self] in self?.given.withLock { $0.last } }
    session.edits = recent
    WritingSessions.note(session)
    // A record that hides, or shows again, may go into a block in another way.
    session.writer.onRecordPut = { [recent] name, kind in recent.forget(RecordKey(name), kind) }
    session.isFollowed = { [eventFollowers] in eventFollowers.isFollowed }
    db.add(transactionObserver: CommitGuard(session), extent: .databaseLifetime)
    box.session = session
    return session
  }
}
