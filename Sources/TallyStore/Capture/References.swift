import GRDBSQLite
import TallyCRDT

/// References of the app's own writes that name nothing, found before the view settles. Settling shows null in their place, or hides
/// what has no owner, and then nothing would be left to refuse: what the app wrote would be gone without a word.
extension Connection {
  /// Whether a deferred foreign key is violated now, which SQLite counts.
  func hasOpenReferences() throws -> Bool {
    var current: Int32 = 0
    var highest: Int32 = 0
    sqlite3_db_status(handle, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
    return current != 0
  }
}

extension Capture {
  /// A reference to a record that was there before and is gone is no mistake: the transaction deletes it, and its rule says what shows
  /// then.
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
    guard try transaction.reader.hasRow(target) else {
      throw StoreError(.danglingReference, "\(what) refers to \(printable(target.text)), which is not there")
    }
  }
}

// MARK: - What SQLite would refuse at its commit

extension WriteTransaction {
  /// Refuses the transaction if a reference in the app's tables names nothing, before SQLite does so without saying which. A table of
  /// the app's own that still refers to a record keeps that record's row.
  func checkReferences() throws {
    guard try connection.hasOpenReferences() else { return }
    for _ in 0..<Self.rounds {
      var kept = false
      for violation in try violations() {
        guard try keepTarget(of: violation) else {
          throw StoreError(.danglingReference, try culprit(violation))
        }
        kept = true
      }
      guard kept else { return }
      try view.settle()
    }
  }

  /// How often rows are brought back for the app's own tables: a row that is back can refer to another.
  private static let rounds = 100

  private struct Violation {
    var table: String
    var row: Int
    var target: String
    var constraint: Int
  }

  private func violations() throws -> [Violation] {
    let query = try SQLStatement(connection.handle, "PRAGMA main.foreign_key_check")
    var found: [Violation] = []
    while try query.step() {
      found.append(
        Violation(
          table: query.text(0) ?? "", row: query.int(1), target: query.text(2) ?? "", constraint: query.int(3)))
    }
    return found
  }

  /// - Returns: false unless it is a table of the app's own that refers to a record which the state hides.
  private func keepTarget(of violation: Violation) throws -> Bool {
    guard catalog.kind(of: violation.table)?.isKnown != true,
      !catalog.knownLinks.contains(where: { $0.table == violation.table }),
      let (_, value) = try reference(violation), let name = try? AnyRecordName(value),
      let kind = catalog.kind(of: name.type), kind.type == violation.target,
      let stored = try reader.record(name, kind), !stored.place.isVisible
    else { return false }
    return try view.keep(name, kind, stored, because: "\(violation.table) refers to it")
  }

  private func reference(_ violation: Violation) throws -> (column: String, value: String)? {
    let list = try SQLStatement(connection.handle, "PRAGMA main.foreign_key_list(\"\(violation.table)\")")
    while try list.step() {
      guard list.int(0) == violation.constraint, let column = list.text(3) else { continue }
      let query = try SQLStatement(
        connection.handle, "SELECT \"\(column)\" FROM main.\"\(violation.table)\" WHERE rowid = \(violation.row)")
      return (column, try query.step() ? query.text(0) ?? "" : "")
    }
    return nil
  }

  private func culprit(_ violation: Violation) throws -> String {
    guard let (column, value) = try reference(violation) else {
      return "\(violation.table) refers to a \(violation.target) that is not there"
    }
    return "\(violation.table).\(column) refers to \(printable(value)), which is not there"
  }
}
