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
/// calls ends the whole transaction, also if the app catches it: `write` throws it again, and nothing has changed.
extension Store {
  /// Brings a deleted record back as part of a write. See `restore(_:)`.
  /// - Throws: `StoreError.noSuchRecord`, `.notDeleted`; `.notInWrite` if `db` is not that of a `write` of this store.
  ///   The whole write fails.
  public func restore(_ db: Database, _ name: AnyRecordName) throws {
    _ = try interlude(db) { try $0.restore(name) }
  }

  /// Brings a deleted record back as part of a write. See `restore(_:)`.
  public func restore<Record>(_ db: Database, _ name: RecordName<Record>) throws { try restore(db, name.name) }

  /// Decides a conflict as part of a write: the value takes the place of both, and the entry leaves the journal. If the
  /// winner was a delete, the record comes back first. See `resolve(_:with:)`.
  /// - Throws: `StoreError.noSuchRecord`, `.unknownType`, `.unknownField`, `.typeMismatch`; `.notInWrite`.
  public func resolve(_ db: Database, _ conflict: Conflict, with value: Value) throws {
    let schema = try listeningSession(db).reader.catalog.schema
    let column = try Self.column(of: conflict, schema)
    if try conflict.winnerIsDelete && schema.record(db, conflict.name) == nil { try restore(db, conflict.name) }
    try Self.decide(db, conflict, value, column, schema)
  }

  /// Writes the value that lost back as part of a write. See `resolve(_:_:with:)`.
  public func restore(_ db: Database, _ conflict: Conflict) throws {
    try resolve(db, conflict, with: conflict.loserValue)
  }

  /// Takes entries out of this device's journal as part of a write, and leaves the values that won.
  public func dismiss(_ db: Database, _ conflicts: some Sequence<Conflict>) throws {
    for conflict in conflicts { try Self.forget(db, conflict) }
  }

  /// Takes an entry out of this device's journal as part of a write, and leaves the value that won.
  public func dismiss(_ db: Database, _ conflict: Conflict) throws { try dismiss(db, CollectionOfOne(conflict)) }

  /// The conflict journal as a read or write of the app's sees it, newest first: for a query that shows conflicts
  /// together with records. See `conflicts(limit:)`.
  public func conflicts(_ db: Database, limit: Int = 100) throws -> [Conflict] {
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
