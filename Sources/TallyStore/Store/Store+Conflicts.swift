import Foundation
import GRDB
import TallyCRDT

extension Store {
  /// Returns the entries of the conflict journal, newest first: concurrent changes that lost. The journal is bounded by
  /// ``StoreOptions/conflictLimit`` and ``StoreOptions/conflictAge``.
  ///
  /// ```swift
  /// for conflict in try store.conflicts() where conflict.kind == .overwritten {
  ///   print("\(conflict.name): \(conflict.loserValue) lost to \(conflict.winnerValue)")
  /// }
  /// ```
  ///
  /// It contains writes that lost to a write of the same field, edits that lost to a delete (if deletes win in the
  /// entity), deletes that an edit has undone, and references that a delete has cleared; see ``Conflict/kind``.
  ///
  /// The journal belongs to this device and does not replicate. An entry disappears automatically when nothing is left
  /// to decide: any device has restored the lost value, the record is deleted again, or the reference is shown or was
  /// written again. A third value does not remove entries on other devices, even if ``resolve(_:with:)`` wrote it: a
  /// cell does not record what its author had seen, and somebody who edits a field again has not necessarily seen the
  /// lost value. ``dismiss(_:)`` is local too. If decisions are to apply everywhere, make each of them a record:
  /// *Conflicts and undo* shows how.
  ///
  /// A replica lists a lost write if both writes met there: it had one, and the other came from a replica that had not
  /// seen the first. A replica that receives the winner from a replica that had both lists nothing, even if it wrote
  /// the lost value; the replica between them does. Two writes with the same time count as concurrent wherever they
  /// meet. A repair lists everything that lost in it.
  ///
  /// Cost: reads the entries. To follow the journal, observe `conflicts(_:limit:)`, which takes a `db`.
  /// - Parameter limit: the maximum number of entries to read.
  /// - Returns: the entries, newest first; none if there are none.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`.
  public func conflicts(limit: Int = 100) throws -> [Conflict] {
    try snapshot { try $0.conflicts(limit: limit) }
  }

  /// Returns the entries of the conflict journal within a read or write of the app, newest first: for a query that
  /// shows conflicts together with records.
  ///
  /// ```swift
  /// let conflicts = store.values { db in try store.conflicts(db) }
  /// ```
  ///
  /// `conflicts(limit:)` describes which conflicts are listed.
  public func conflicts(_ db: Database, limit: Int = 100) throws -> [Conflict] {
    // GRDB does not see what is read without its statements; this says what an observation depends on.
    _ = try Row.fetchOne(db, sql: "SELECT * FROM \(ConflictRow.databaseTableName) LIMIT 0")
    let connection = try Connection(db)
    return try StateReader(connection, catalog: Catalog.load(connection, cached: nil)).conflicts(limit: limit)
  }

  /// Applies the losing change of a conflict after all, as a new edit that wins over the other change on all devices.
  ///
  /// ```swift
  /// if let conflict = try store.conflicts(limit: 1).first { try store.restore(conflict) }
  /// ```
  ///
  /// A lost value is written again; if it had lost to a delete, the record is restored first. A delete that was undone
  /// is repeated. For a reference that was cleared, the record that it names is restored.
  ///
  /// The same transaction removes the entry from the journal. The replaced value is not journalled, because this
  /// replica has seen both. Other devices drop their entry once they receive the restored change.
  /// - Returns: the dot of the edit, or of the record's restore if that shows the value; nil if the field already has
  ///   it.
  /// - Throws: `StoreError.noSuchRecord` if the record does not exist, `.unknownField` if this schema does not have the
  ///   field, `.typeMismatch`, `.danglingReference` for a reference to a missing record. Then nothing has changed.
  @discardableResult
  public func restore(_ conflict: Conflict) throws -> Dot? { try commit { try restore($0, conflict) }.dot }

  /// Applies the losing change of a conflict after all, as part of a write. See `restore(_:)` for a conflict.
  ///
  /// ```swift
  /// try store.write { db in for conflict in try store.conflicts(db) { try store.restore(db, conflict) } }
  /// ```
  /// - Throws: `StoreError.noSuchRecord`, `.unknownType`, `.unknownField`, `.typeMismatch`; `.notInWrite`. The whole
  ///   write fails.
  public func restore(_ db: Database, _ conflict: Conflict) throws {
    let schema = try listeningSession(db).reader.catalog.schema
    switch conflict.kind {
    case .overwritten, .deleted: return try resolve(db, conflict, with: conflict.loserValue)
    case .deleteUndone:
      guard try schema.record(db, conflict.name) != nil else {
        throw StoreError(.noSuchRecord, "no record named \(conflict.name)")
      }
      try schema.delete(db, conflict.name)
    case .referenceCleared:
      guard case .text(let text) = conflict.loserValue else { break }
      let target = try AnyRecordName(text)
      if try schema.record(db, target) == nil { try restore(db, target) }
    }
    try dismiss(db, conflict)
  }

  /// Replaces both values of a conflict with another one, as a new edit: a person has decided. The same transaction
  /// removes the entry from this device's journal; other devices receive the value and keep entries of their own.
  ///
  /// ```swift
  /// for conflict in try store.conflicts() {
  ///   if let draft = conflict.merged() { try store.resolve(conflict, with: .text(draft)) }
  /// }
  /// ```
  ///
  /// If the winner was a delete, the record is restored first. A delete that was undone has no field, so no value can
  /// replace it: restore or dismiss it.
  /// - Returns: the dot of the edit, or of the record's restore if that shows the value; nil if the field already has
  ///   it.
  /// - Throws: `StoreError.noSuchRecord` if the record does not exist, `.unknownField` if this schema does not have the
  ///   field, `.typeMismatch`, `.danglingReference` for a reference to a missing record. Then nothing has changed.
  @discardableResult
  public func resolve(_ conflict: Conflict, with value: Value) throws -> Dot? {
    try commit { try resolve($0, conflict, with: value) }.dot
  }

  /// Resolves a conflict as part of a write: the value replaces both, and the entry is removed from the journal. If the
  /// winner was a delete, the record is restored first. See ``resolve(_:with:)``.
  ///
  /// ```swift
  /// try store.write { db in
  ///   for conflict in try store.conflicts(db) {
  ///     if let draft = conflict.merged() { try store.resolve(db, conflict, with: .text(draft)) }
  ///   }
  /// }
  /// ```
  /// - Throws: `StoreError.noSuchRecord`, `.unknownType`, `.unknownField`, `.typeMismatch`; `.notInWrite` if `db` is
  ///   not the database of a `write` of this store.
  public func resolve(_ db: Database, _ conflict: Conflict, with value: Value) throws {
    let schema = try listeningSession(db).reader.catalog.schema
    guard let entity = schema[conflict.name.type] else {
      throw StoreError(.unknownType, "the type \(printable(conflict.name.type)) is not in the schema")
    }
    guard !conflict.field.isEmpty else {
      throw StoreError(.unknownField, "a delete that was undone has no field: restore or dismiss it")
    }
    let column = entity.fields.first { $0.wireName == conflict.field }?.name ?? conflict.field
    if try schema.record(db, conflict.name) == nil {
      guard conflict.kind == .deleted else {
        throw StoreError(
          .noSuchRecord, "no record named \(conflict.name); if it was deleted, restore it by its name first")
      }
      try restore(db, conflict.name)
    }
    if entity.fields.contains(where: { $0.name == column && ($0.kind == .counter || $0.keep != nil) }) {
      try schema.set(db, conflict.name, column, to: value)
    } else {
      try schema.put(db, conflict.name, [column: value])
    }
    try dismiss(db, conflict)
  }

  /// Removes an entry that a person has reviewed from this device's journal, and keeps the value that won.
  ///
  /// ```swift
  /// for conflict in try store.conflicts() { try store.dismiss(conflict) }
  /// ```
  ///
  /// It does nothing if the entry does not exist. Nothing replicates: other devices keep entries of their own. A later
  /// repair, which lists everything that lost in it, can bring the entry back.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`.
  public func dismiss(_ conflict: Conflict) throws { try dismiss(CollectionOfOne(conflict)) }

  /// Removes entries from this device's journal in one transaction: all of them, or none if it throws.
  ///
  /// ```swift
  /// try store.dismiss(store.conflicts())
  /// ```
  ///
  /// The values that won stay, and nothing replicates: other devices keep their entries. Missing entries are ignored.
  /// - Throws: GRDB's `DatabaseError`, with SQLITE_BUSY if another process writes for longer than
  ///   `StoreOptions.busyTimeout`.
  public func dismiss(_ conflicts: some Sequence<Conflict>) throws {
    try write { try dismiss($0, conflicts) }
  }

  /// Removes entries from this device's journal as part of a write, and keeps the values that won. Missing entries are
  /// ignored.
  ///
  /// ```swift
  /// try store.write { db in try store.dismiss(db, store.conflicts(db)) }
  /// ```
  /// - Throws: `StoreError.notInWrite`; GRDB's `DatabaseError`.
  public func dismiss(_ db: Database, _ conflicts: some Sequence<Conflict>) throws {
    _ = try listeningSession(db)
    for conflict in conflicts {
      try db.execute(
        sql: "DELETE FROM tally_conflict WHERE name = ? AND field = ? AND loser_replica = ? AND loser_sequence = ?",
        arguments: [
          conflict.name.text, conflict.field, Data(conflict.loser.dot.replica.bytes),
          Int64(bitPattern: conflict.loser.dot.sequence),
        ])
    }
  }

  /// Removes an entry from this device's journal as part of a write, and keeps the value that won. It ignores a missing
  /// entry.
  /// - Throws: `StoreError.notInWrite`; GRDB's `DatabaseError`.
  public func dismiss(_ db: Database, _ conflict: Conflict) throws { try dismiss(db, CollectionOfOne(conflict)) }
}

extension StateReader {
  func conflicts(of name: AnyRecordName? = nil, limit: Int = -1) throws -> [Conflict] {
    try numberedConflicts(of: name, limit: limit).map(\.conflict)
  }

  /// Entries with their numbers in the journal's table, newest first.
  func numberedConflicts(
    of name: AnyRecordName? = nil, limit: Int = -1
  ) throws -> [(number: Int64, conflict: Conflict)] {
    // With `?1 IS NULL OR name = ?1` instead, SQLite would read the whole journal for each name; and of one name it
    // would set up a sorter for the order.
    let query = try name == nil ? connection.statement(Self.conflicts) : connection.statement(Self.conflictsByName)
    if let name { query.bind(1, name.text) } else { query.bind(1, limit) }
    defer { query.reset() }
    func column(_ type: String, _ field: String) -> String? {
      guard let entity = catalog.schema[type] else { return nil }
      return entity.fields.first { $0.wireName == field }?.name ?? entity.references.first { $0.name == field }?.name
    }
    var result: [(Int64, Conflict)] = []
    while try query.step() {
      func stamp(_ index: Int) -> Stamp {
        Stamp(
          time: HybridTime(milliseconds: UInt64(max(0, query.int(index + 2)))),
          dot: Dot(replica: ReplicaID(query.blob(index)), sequence: UInt64(max(0, query.int(index + 1)))))
      }
      guard let name = try? AnyRecordName(query.text(1) ?? ""), let field = query.text(2) else { continue }
      let conflict = Conflict(
        kind: Conflict.Kind(number: query.int64(11)), name: name, field: field, column: column(name.type, field),
        loser: stamp(3), loserValue: query.value(6), winner: stamp(7), winnerValue: query.value(10),
        noticed: Date(timeIntervalSince1970: Double(query.int(0)) / 1000))
      result.append((query.int64(12), conflict))
    }
    guard name != nil else { return result }
    result.sort { $0.0 > $1.0 }
    return limit < 0 ? result : Array(result.prefix(limit))
  }

  private static let columns = """
    SELECT noticed, name, field, loser_replica, loser_sequence, loser_time, loser_value,
      winner_replica, winner_sequence, winner_time, winner_value, winner_deletes, n FROM tally_conflict
    """
  private static let conflicts = RowSQL("\(columns) ORDER BY n DESC LIMIT ?")
  private static let conflictsByName = RowSQL("\(columns) WHERE name = ?")
}
