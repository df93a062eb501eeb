import GRDB
import TallyCRDT

/// Sets a counter of a record that is seen, or a field that keeps the greatest or the least, as part of the app's
/// write: by a statement of the app's, so that its checks and triggers have their say before anything is said.
struct ColumnSetting {
  let session: WritingSession
  let db: Database

  /// - Throws: `StoreError.unknownType`, `.unknownField`, `.typeMismatch`, `.noSuchRecord`, `.valueTooLarge`,
  ///   `.writeIgnored`; `.notInWrite`; `DatabaseError` if SQLite refuses the value.
  static func set(_ column: String, of name: AnyRecordName, to value: Value, in db: Database) throws {
    try ColumnSetting(session: WritingSessions.listening(db), db: db).set(column, of: name, to: value)
  }

  private func set(_ column: String, of name: AnyRecordName, to value: Value) throws {
    let (kind, place) = try CounterWrites.settable(column, of: name, to: value, session.reader.catalog)
    // What was written before counts as what it is.
    try session.interlude { _ in }
    let update = "UPDATE main.\"\(kind.type)\" SET \"\(column)\" = ? WHERE id = ?"
    try db.cachedStatement(sql: update).execute(arguments: [value.databaseValue, name.text.databaseValue])
    guard db.changesCount > 0 else {
      let query = "SELECT 1 FROM main.\"\(kind.type)\" WHERE id = ?"
      guard try Row.fetchOne(db, sql: query, arguments: [name.text]) != nil else {
        throw StoreError(.noSuchRecord, "no record named \(name)")
      }
      throw StoreError.ignored("the write of \(name)")
    }
    let row = RowAddress(kind: kind.number, key: name.text)
    session.applying.setting = SetColumn(row: row, place: place)
    defer { session.applying.setting = nil }
    try session.interlude { transaction in
      // What the row showed before is no change, but is set all the same.
      guard session.applying.takeSetting(of: row) != nil else { return }
      try CounterWrites(transaction).set(place, of: name, kind, to: value)
    }
  }
}
