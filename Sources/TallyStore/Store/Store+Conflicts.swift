import Foundation
import GRDB
import TallyCRDT

extension Store {
  /// The conflict journal, newest first: concurrent changes that lost. Bounded by ``StoreOptions/conflictLimit`` and
  /// ``StoreOptions/conflictAge``.
  ///
  /// ```swift
  /// for conflict in try store.conflicts() where conflict.kind == .overwritten {
  ///   print("\(conflict.name): \(conflict.loserValue) lost to \(conflict.winnerValue)")
  /// }
  /// ```
  ///
  /// It has writes that lost to a write of the same field, edits that lost to a delete (where the entity lets deletes
  /// win), deletes that an edit has undone, and references that a delete has cleared; ``Conflict/kind`` says which.
  ///
  /// The journal is of this device and does not replicate. An entry goes by itself when nothing is left to decide: the
  /// lost value shows again, on whichever device that was done, the record is deleted again, or the reference shows or
  /// was written again. A third value settles nothing on other devices, also one that ``resolve(_:with:)`` has written
  /// there: cells do not say what their author had seen, and who edits a field again need not have looked at what was
  /// lost. ``dismiss(_:)`` is local, too. Where decisions should count everywhere, make each a record: *Conflicts and
  /// undo* shows how.
  ///
  /// A replica lists a lost write if both writes met there: one was here, the other came from a replica that had not
  /// seen the first. So who gets the winner from a replica that had both lists nothing, even the author of the lost
  /// write; the replica between them does. Two writes of one time are concurrent wherever they are met. A repair lists
  /// everything that lost in it.
  ///
  /// Cost: reads the entries. To follow them, observe `conflicts(_:limit:)`, which takes a `db`.
  /// - Parameter limit: the most entries to read.
  /// - Returns: the entries, newest first; none if there are none.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`.
  public func conflicts(limit: Int = 100) throws -> [Conflict] {
    try snapshot { try $0.conflicts(limit: limit) }
  }

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

  /// Makes what lost count after all, as a new edit made now: it wins everywhere over what it had lost to.
  ///
  /// ```swift
  /// if let conflict = try store.conflicts(limit: 1).first { try store.restore(conflict) }
  /// ```
  ///
  /// A value is written back; if it had lost to a delete, the record comes back first. A delete that was undone is made
  /// again. For a reference that was cleared, the record that it names comes back.
  ///
  /// The entry leaves the journal in the same transaction, and the value that it replaces is not journalled: this
  /// replica has seen both. Other devices drop their entry once they receive what was restored.
  /// - Returns: the dot of the edit, or of the record's restore if that has shown the value; nil if the field has the
  ///   value already.
  /// - Throws: `StoreError.noSuchRecord` if the record is not there, `.unknownField` if this schema does not have the
  ///   field, `.typeMismatch`, `.danglingReference` if it is a reference to what is not there. Nothing has changed
  ///   then.
  @discardableResult
  public func restore(_ conflict: Conflict) throws -> Dot? { try commit { try restore($0, conflict) }.dot }

  /// Makes what lost count after all, as part of a write. See `restore(_:)` of a conflict.
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

  /// Writes a value in the place of both that were in conflict, as a new edit made now: a person has decided. The entry
  /// leaves this device's journal in the same transaction; other devices get the value, and keep entries of their own.
  ///
  /// ```swift
  /// for conflict in try store.conflicts() {
  ///   if let draft = conflict.merged() { try store.resolve(conflict, with: .text(draft)) }
  /// }
  /// ```
  ///
  /// If the winner was a delete, the record comes back first. A delete that was undone has no field, so no value can
  /// take its place: restore or dismiss it.
  /// - Returns: the dot of the edit, or of the record's restore if that has shown the value; nil if the field has the
  ///   value already.
  /// - Throws: `StoreError.noSuchRecord` if the record is not there, `.unknownField` if this schema does not have the
  ///   field, `.typeMismatch`, `.danglingReference` if it is a reference to what is not there. Nothing has changed
  ///   then.
  @discardableResult
  public func resolve(_ conflict: Conflict, with value: Value) throws -> Dot? {
    try commit { try resolve($0, conflict, with: value) }.dot
  }

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

  /// Takes an entry out of this device's journal and leaves the value that won: a person has seen it.
  ///
  /// ```swift
  /// for conflict in try store.conflicts() { try store.dismiss(conflict) }
  /// ```
  ///
  /// Nothing happens if the entry is not there. Nothing replicates: other devices keep entries of their own. A later
  /// repair, which lists everything that lost in it, can bring it back.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`.
  public func dismiss(_ conflict: Conflict) throws { try dismiss(CollectionOfOne(conflict)) }

  /// Takes entries out of this device's journal, in one transaction: all of them, or none if it throws.
  ///
  /// ```swift
  /// try store.dismiss(store.conflicts())
  /// ```
  ///
  /// The values that won stay, and nothing replicates: other devices keep entries of their own. Entries that are not
  /// there are ignored.
  /// - Throws: GRDB's `DatabaseError`, with SQLITE_BUSY if another process writes for longer than
  ///   `StoreOptions.busyTimeout`.
  public func dismiss(_ conflicts: some Sequence<Conflict>) throws {
    try write { try dismiss($0, conflicts) }
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
    for conflict in conflicts {
      try db.execute(
        sql: "DELETE FROM tally_conflict WHERE name = ? AND field = ? AND loser_replica = ? AND loser_sequence = ?",
        arguments: [
          conflict.name.text, conflict.field, Data(conflict.loser.dot.replica.bytes),
          Int64(bitPattern: conflict.loser.dot.sequence),
        ])
    }
  }

  /// Takes an entry out of this device's journal as part of a write, and leaves what won. Nothing happens if it is not
  /// there.
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
