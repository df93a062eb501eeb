import GRDBSQLite
import TallyCRDT

/// References of the app's own writes that name nothing, found before the view settles. Settling shows null in their place, or hides
/// what has no owner, and then nothing would be left to refuse: what the app wrote would be gone without a word.
extension Engine {
  /// The records that were there before the transaction; nil if no reference is open, which SQLite counts.
  ///
  /// A reference to one of them that is gone is no mistake: the transaction deletes it, and its rule says what shows then.
  func recordsBefore(_ writes: PendingWrites) throws -> Set<String>? {
    var current: Int32 = 0
    var highest: Int32 = 0
    sqlite3_db_status(connection.handle, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
    guard current != 0 else { return nil }
    return Set(writes.records.filter { $0.before != nil && catalog.records[$0.kind] != nil }.map(\.key))
  }

  /// - Throws: `StoreError.danglingReference` if a reference that this transaction has written names a record that is not there.
  func checkReferences(
    _ kind: RecordKind, _ values: [Value], over before: [Value]?, whereThereWere records: Set<String>
  ) throws {
    for (index, column) in kind.columns.enumerated() {
      guard column.reference != nil, before?[index] != values[index],
        let target = column.target(of: values[index]), !records.contains(target.text)
      else { continue }
      try check(target, "\(kind.type).\(column.name)")
    }
  }

  /// - Throws: `StoreError.danglingReference` if an end of a new link is not there. The link alone would bring a deleted record back.
  func checkEnds(_ key: LinkKey, _ kind: LinkKind, whereThereWere records: Set<String>) throws {
    for (name, end) in [(key.source, "source"), (key.target, "target")] where !records.contains(name.text) {
      try check(name, "\(kind.table).\(end)")
    }
  }

  private func check(_ target: AnyRecordName, _ what: String) throws {
    let query = try connection.statement(text: "SELECT 1 FROM \"\(target.type)\" WHERE id = ?")
    query.bind(1, target.text)
    defer { query.reset() }
    guard try query.step() else {
      throw StoreError(.danglingReference, "\(what) refers to \(printable(target.text)), which is not there")
    }
  }
}
