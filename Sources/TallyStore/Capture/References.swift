import CTallySQLite
import GRDBSQLite
import TallyCRDT

/// References of the app's own writes that name nothing, found before the view settles. Settling shows null in their
/// place, or hides what has no owner, and then nothing would be left to refuse: what the app wrote would be gone
/// without a word.
extension Connection {
  /// Whether a deferred foreign key is violated now, which SQLite counts.
  func hasOpenReferences() throws -> Bool {
    var current: Int32 = 0
    var highest: Int32 = 0
    sqlite3_db_status(handle, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
    return current != 0
  }

  /// Whether SQLite looks after references on this connection.
  var enforcesForeignKeys: Bool { tally_enforces_foreign_keys(handle) != 0 }
}

extension Capture {
  /// A reference to a record that was there before and is gone is no mistake: the transaction deletes it, and its rule
  /// says what shows then. One to a record that gave way is one to the record that stands for it.
  /// - Throws: `StoreError.danglingReference` if a reference that this transaction has written names a record that is
  ///   not there.
  func checkReferences(
    _ name: AnyRecordName, _ kind: RecordKind, _ values: [Value], over before: [Value]?,
    whereThereWere records: Set<String>
  ) throws {
    for (index, column) in kind.columns.enumerated() {
      guard column.reference != nil, before?[index] != values[index],
        let target = column.target(of: values[index]), !records.contains(target.text)
      else { continue }
      // An app that read it before it gave way means the one that stands for it, and so does the view.
      if let successor = try transaction.reader.successor(of: target), try transaction.reader.hasRow(successor) {
        transaction.view.mark(name)
        continue
      }
      try check(target, "\(kind.type).\(column.name)")
    }
  }

  /// - Throws: `StoreError.danglingReference` if an end of a new link is not there. The link alone would bring a
  ///   deleted record back.
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
  /// Refuses the transaction if a reference in the store's tables names nothing, before SQLite does so without saying
  /// which. What a table of the app's own still refers to, or a row that could not be removed, keeps its row.
  func checkReferences() throws {
    for _ in 0..<Self.rounds {
      guard try connection.hasOpenReferences() else { return }
      var hasKept = false
      for violation in try violations() {
        if try keepTargets(of: violation) {
          hasKept = true
        } else if isReplicated(violation.table), try !hasKept && !isKept(violation) {
          throw StoreError(.danglingReference, try culprit(violation))
        }
      }
      // What is left are tables of the app's that nothing here can help; SQLite will say so.
      guard hasKept else { return }
      try view.settle()
    }
  }

  /// Refuses a write of the app's that has deleted what SQLite does not let go: a table of the app's own refers to it,
  /// or a trigger of the app's keeps it. Done in part it would be acknowledged here and done everywhere else. Refuses
  /// also one of a newer field whose older column SQLite does not let have the value.
  /// - Throws: `StoreError.deleteDenied`, `.writeIgnored`.
  func refuseHeldRows() throws {
    for address in held.lensed.sorted() where held.before?[address]?.mode != .kept {
      guard let entry = reader.aside[address], !entry.isHeld else { continue }
      throw StoreError(
        .writeIgnored,
        "\(printable(address.key)): the older column of a field that was written takes no such value (\(entry.reason))")
    }
    let rows = reader.aside.news.compactMap { address -> (address: RowAddress, reason: String)? in
      guard let entry = reader.aside[address], entry.isHeld, held.before?[address]?.isHeld != true else { return nil }
      return (address, entry.reason)
    }
    // What only follows from another is not the reason.
    let first = rows.min {
      ($0.reason.hasSuffix(Self.referral) ? 1 : 0, $0.address) < (
        $1.reason.hasSuffix(Self.referral) ? 1 : 0, $1.address
      )
    }
    guard let first else { return }
    throw StoreError(
      .deleteDenied, "\(printable(first.address.key)) cannot be deleted: SQLite keeps its row (\(first.reason))")
  }

  /// The end of the reason of a row that is kept because another refers to it.
  private static let referral = "refers to it"

  /// The maximum number of rounds of bringing rows back: a row that is back can refer to another.
  private static let rounds = 100

  private struct Violation {
    var table: String
    var row: Int
    var target: String
    var constraint: Int
  }

  private func violations() throws -> [Violation] {
    let query = try SQLStatement(connection, "PRAGMA main.foreign_key_check")
    var found: [Violation] = []
    while try query.step() {
      found.append(
        Violation(
          table: query.text(0) ?? "", row: query.int(1), target: query.text(2) ?? "", constraint: query.int(3)))
    }
    return found
  }

  private func isReplicated(_ table: String) -> Bool {
    catalog.kind(of: table)?.isKnown == true || catalog.knownLinks.contains { $0.table == table }
  }

  /// Whether the row that refers is one that SQLite did not let go.
  private func isKept(_ violation: Violation) throws -> Bool {
    guard !reader.aside.isEmpty else { return false }
    let (key, kind): (String, KindNumber)
    if let record = catalog.kind(of: violation.table) {
      (key, kind) = ("id", record.number)
    } else if let link = catalog.knownLinks.first(where: { $0.table == violation.table }) {
      (key, kind) = ("source || char(10) || target", link.number)
    } else {
      return false
    }
    let query = try SQLStatement(
      connection, "SELECT \(key) FROM main.\"\(violation.table)\" WHERE rowid = \(violation.row)")
    guard try query.step(), let text = query.text(0) else { return false }
    return reader.aside[RowAddress(kind: kind, key: text)]?.mode == .kept
  }

  /// Brings back the rows of records that the state hides, and to which a table of the app's or a kept row refers.
  /// - Returns: whether there was one.
  private func keepTargets(of violation: Violation) throws -> Bool {
    guard let kind = catalog.kind(of: violation.target), kind.isKnown else { return false }
    if isReplicated(violation.table), try !isKept(violation) { return false }
    guard let column = try column(violation) else { return false }
    let query = try SQLStatement(
      connection,
      """
      SELECT DISTINCT "\(column)" FROM main."\(violation.table)"
        WHERE "\(column)" IS NOT NULL AND "\(column)" NOT IN (SELECT id FROM main."\(kind.type)")
      """)
    var names: [AnyRecordName] = []
    while try query.step() { if let name = try? AnyRecordName(query.text(0) ?? "") { names.append(name) } }
    query.reset()
    var hasKept = false
    for name in names where name.hasType(kind.type) {
      guard let stored = try reader.record(name, kind), !stored.place.isVisible else { continue }
      if try view.keep(name, kind, stored, because: "\(violation.table) \(Self.referral)") { hasKept = true }
    }
    return hasKept
  }

  /// The column that refers, if it is one.
  private func column(_ violation: Violation) throws -> String? {
    let list = try SQLStatement(connection, "PRAGMA main.foreign_key_list(\"\(violation.table)\")")
    var columns: [String] = []
    while try list.step() { if list.int(0) == violation.constraint, let name = list.text(3) { columns.append(name) } }
    return columns.count == 1 ? columns[0] : nil
  }

  private func culprit(_ violation: Violation) throws -> String {
    guard let column = try column(violation) else {
      return "\(violation.table) refers to a \(violation.target) that is not there"
    }
    let query = try SQLStatement(
      connection, "SELECT \"\(column)\" FROM main.\"\(violation.table)\" WHERE rowid = \(violation.row)")
    let value = try query.step() ? query.text(0) ?? "" : ""
    return "\(violation.table).\(column) refers to \(printable(value)), which is not there"
  }
}
