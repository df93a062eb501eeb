import GRDB
import TallyCRDT

/// The same inside a write of the app's: together with what it writes itself, or not at all.
///
/// ```swift
/// try store.write { db in
///   try store.restore(db, chess)
///   try db.execute(sql: "UPDATE Game SET name = 'Chess again' WHERE id = ?", arguments: [chess])
/// }
/// ```
///
/// Changes that the transaction has made before are captured first, as if it ended there: references must hold by
/// then, and a deleted record takes with it what it owns. Peers still get all of it at once or none. An error of these
/// calls ends the whole transaction, also if the app catches it: `write` throws it again, and nothing has changed. So
/// does a savepoint that is rolled back after such a call within it.
extension Store {
  /// Brings a deleted record back as part of a write. See `restore(_:)`.
  ///
  /// ```swift
  /// try store.write { db in try store.restore(db, chess.name) }
  /// ```
  /// - Throws: `StoreError.noSuchRecord`, `.notDeleted`; `.notInWrite` if `db` is not that of a `write` of this store.
  ///   The whole write fails.
  public func restore(_ db: Database, _ name: AnyRecordName) throws {
    _ = try interlude(db) { try $0.restore(name) }
  }

  /// Brings a deleted record back, complete, as part of a write. See `restore(_:)`.
  ///
  /// ```swift
  /// try store.write { db in try store.restore(db, chess) }
  /// ```
  /// - Throws: `StoreError.noSuchRecord`, `.notDeleted`; `.notInWrite` if `db` is not that of a `write` of this store.
  ///   The whole write fails.
  public func restore<Record>(_ db: Database, _ name: RecordName<Record>) throws { try restore(db, name.name) }

  /// Decides a conflict as part of a write: the value takes the place of both, and the entry leaves the journal. If the
  /// winner was a delete, the record comes back first. See ``resolve(_:with:)``.
  ///
  /// ```swift
  /// try store.write { db in
  ///   for conflict in try store.conflicts(db) {
  ///     if let draft = conflict.merged() { try store.resolve(db, conflict, with: .text(draft)) }
  ///   }
  /// }
  /// ```
  /// - Throws: `StoreError.noSuchRecord`, `.unknownType`, `.unknownField`, `.typeMismatch`; `.notInWrite` if `db` is
  ///   not that of a `write` of this store.
  public func resolve(_ db: Database, _ conflict: Conflict, with value: Value) throws {
    let schema = try listeningSession(db).reader.catalog.schema
    let column = try Self.column(of: conflict, schema)
    if try conflict.kind == .deleted && schema.record(db, conflict.name) == nil { try restore(db, conflict.name) }
    try Self.decide(db, conflict, value, column, schema)
  }

  /// Makes what lost count after all, as part of a write. See `restore(_:)` of a conflict.
  ///
  /// ```swift
  /// try store.write { db in for conflict in try store.conflicts(db) { try store.restore(db, conflict) } }
  /// ```
  /// - Throws: `StoreError.noSuchRecord`, `.unknownType`, `.unknownField`, `.typeMismatch`; `.notInWrite`. The whole
  ///   write fails.
  public func restore(_ db: Database, _ conflict: Conflict) throws {
    switch conflict.kind {
    case .overwritten, .deleted: return try resolve(db, conflict, with: conflict.loserValue)
    case .deleteUndone:
      let schema = try listeningSession(db).reader.catalog.schema
      guard try schema.record(db, conflict.name) != nil else {
        throw StoreError(.noSuchRecord, "no record named \(conflict.name)")
      }
      try schema.delete(db, conflict.name)
    case .referenceCleared:
      guard case .text(let text) = conflict.loserValue else { break }
      let target = try AnyRecordName(text)
      let schema = try listeningSession(db).reader.catalog.schema
      if try schema.record(db, target) == nil { try restore(db, target) }
    }
    try Self.forget(db, conflict)
  }

  /// Takes entries out of this device's journal as part of a write, and leaves what won. Those that are not there are
  /// ignored.
  ///
  /// ```swift
  /// try store.write { db in try store.dismiss(db, store.conflicts(db)) }
  /// ```
  /// - Throws: `StoreError.notInWrite`; GRDB's `DatabaseError`.
  public func dismiss(_ db: Database, _ conflicts: some Sequence<Conflict>) throws {
    _ = try listeningSession(db)
    for conflict in conflicts { try Self.forget(db, conflict) }
  }

  /// Takes an entry out of this device's journal as part of a write, and leaves what won. Nothing happens if it is not
  /// there.
  /// - Throws: `StoreError.notInWrite`; GRDB's `DatabaseError`.
  public func dismiss(_ db: Database, _ conflict: Conflict) throws { try dismiss(db, CollectionOfOne(conflict)) }

  /// The conflict journal as a read or write of the app's sees it, newest first: for a query that shows conflicts
  /// together with records.
  ///
  /// ```swift
  /// let conflicts = store.values { db in try store.conflicts(db) }
  /// ```
  ///
  /// See `conflicts(limit:)`, which says what is listed.
  public func conflicts(_ db: Database, limit: Int = 100) throws -> [Conflict] {
    // GRDB does not see what is read without its statements; this says what an observation depends on.
    _ = try Row.fetchOne(db, sql: "SELECT * FROM \(ConflictRow.databaseTableName) LIMIT 0")
    let connection = try Connection(db)
    return try StateReader(connection, catalog: Catalog.load(connection, cached: nil)).conflicts(limit: limit)
  }

  private func interlude<T>(_ db: Database, _ body: (WriteTransaction) throws -> T) throws -> T {
    try listeningSession(db).interlude(body)
  }

  private func listeningSession(_ db: Database) throws -> WritingSession {
    guard let session = box.session, session.isListening, db.sqliteConnection == session.connection.handle else {
      throw StoreError(.notInWrite, "this needs the database of a write of the same store")
    }
    return session
  }
}
