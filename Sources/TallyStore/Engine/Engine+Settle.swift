import GRDB
import GRDBSQLite
import TallyCRDT

/// Keeping the view equal to the function of the state, after states have changed.
///
/// What may look different is collected while states are written. Once all states are in, each of these records and links is
/// looked at once: `Visibility` decides from the state alone, and the row follows. A record that appears or disappears brings in
/// what depends on it.
extension Engine {
  // MARK: Collecting

  /// Marks what a changed state can mean for the record itself and its ancestors.
  /// - Parameter isSettled: the record itself is seen or hidden as its state says already.
  func markDirty(
    _ name: AnyRecordName, _ kind: RecordKind, from old: RecordState?, to new: RecordState, isSettled: Bool = false
  ) throws {
    if !new.deletes.isEmpty, !isSettled { dirty.insert(name) }
    // A new life shows nothing of its seed.
    let isNewLife = new.seed != nil && old?.existence != new.existence
    if old?.seed != new.seed || isNewLife { try markSeedDirty(name, kind, new) }
    if let forward = kind.forwardField, case .text(let seed) = new[forward]?.value {
      // What the duplicate owned, the seed owns, or no longer does.
      try climb(from: [name] + [try? AnyRecordName(seed)].compactMap { $0 })
    }
    let columns = kind.ownerColumns
    guard !columns.isEmpty, hasDeletes || kind.mayCycle else { return }
    let targets = columns.flatMap { column in
      [old, new].map { $0?.cell(column.field, followsNewest: kind.followsNewest) }.compactMap {
        $0.flatMap { column.target(of: $0.value) }
      }
    }
    if kind.mayCycle { dirty.insert(name) }
    try climb(from: targets)
  }

  /// Marks records and all their ancestors: a touch below can revive an owner, an edge can close or open a cycle.
  func climb(from names: [AnyRecordName]) throws {
    var stack = names
    var seen = Set(names)
    while let name = stack.popLast() {
      dirty.insert(name)
      guard let facts = try SnapshotFacts(reader).facts(of: name) else { continue }
      let above = facts.owners.map(\.target) + (facts.forward.map { [$0] } ?? [])
      for next in above where seen.insert(next).inserted { stack.append(next) }
    }
  }

  /// Marks what waits for a record that has appeared.
  func markWaitingDirty(_ name: AnyRecordName) throws {
    for (number, key) in try reader.waiting(for: name) {
      if catalog.records[number] != nil {
        guard let waiting = try? AnyRecordName(key) else {
          throw StoreError(.corrupt, "a waiting record's name is malformed")
        }
        dirty.insert(waiting)
      } else {
        dirty.insert(number, try LinkKey(key))
      }
    }
  }

  /// Marks the rows that refer to a record that has disappeared.
  func markReferrersDirty(_ name: AnyRecordName) throws {
    for (number, column) in catalog.referrers[name.type] ?? [] {
      guard let kind = catalog.records[number] else { continue }
      let query = try connection.statement(text: "SELECT id FROM \"\(kind.type)\" WHERE \"\(column.name)\" = ?")
      query.bind(1, name.text)
      while try query.step() {
        if let referrer = try? AnyRecordName(query.text(0) ?? "") { dirty.insert(referrer) }
      }
    }
    for (numbers, end) in [(catalog.linksFrom[name.type], "source"), (catalog.linksTo[name.type], "target")] {
      for number in numbers ?? [] {
        guard let kind = catalog.links[number] else { continue }
        let query = try connection.statement(text: "\(kind.rowSQL) WHERE \(end) = ?")
        query.bind(1, name.text)
        while try query.step() { if let key = try reader.key(in: query) { dirty.insert(number, key) } }
      }
    }
  }

  // MARK: Settling

  /// Looks at everything that was marked, until nothing is.
  func settle() throws {
    guard !dirty.isEmpty else { return }
    let visibility = Visibility(SnapshotFacts(reader, planted: environment.planted))
    while !dirty.isEmpty {
      while let name = dirty.popRecord() { try settle(name, visibility) }
      while let (kind, key) = dirty.popLink() { try settle(kind, key, visibility) }
    }
  }

  private func settle(_ name: AnyRecordName, _ visibility: Visibility<SnapshotFacts>) throws {
    guard let kind = catalog.kind(of: name.type), kind.isKnown, let stored = try reader.record(name, kind),
      !stored.state.isEmpty
    else { return }
    guard try visibility.isVisible(name) else {
      // What refers to a duplicate follows its seed, which may have appeared, or no longer does.
      if let forward = kind.forwardField, stored.state[forward] != nil { try markWaitingDirtyOnce(name) }
      guard stored.place.isVisible else { return }
      try put(name, kind, stored.state, previous: stored, shown: nil)
      return try markReferrersDirty(name)
    }
    var shown = try visibility.values(of: name, kind, stored.state)
    if stored.place.isVisible,
      let fields = refused.isEmpty ? nil : refused[RowAddress(kind: kind.number, key: name.text)]
    {
      for (index, column) in kind.columns.enumerated() where fields.contains(column.field) {
        shown[index] = stored.values[index]
      }
    }
    guard !stored.place.isVisible || shown != stored.values else { return }
    try put(name, kind, stored.state, previous: stored, shown: shown)
    if !stored.place.isVisible, hasWaits { try markWaitingDirty(name) }
  }

  private func settle(_ number: Int, _ key: LinkKey, _ visibility: Visibility<SnapshotFacts>) throws {
    guard let kind = catalog.links[number], kind.isKnown, let stored = try reader.link(key, kind) else { return }
    let isShown =
      try reader.isMember(key, stored.element) && visibility.isVisible(key.source) && visibility.isVisible(key.target)
    if isShown != stored.place.isVisible {
      try put(key, kind, stored.element, previous: stored, isShown: isShown)
    }
  }

  // MARK: Foreign keys

  /// Refuses the transaction if a reference in the app's tables names nothing, before SQLite does so without saying which.
  func checkReferences() throws {
    var current: Int32 = 0
    var highest: Int32 = 0
    sqlite3_db_status(connection.handle, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
    guard current != 0 else { return }
    let query = try connection.statement("PRAGMA foreign_key_check")
    defer { query.reset() }
    guard try query.step() else { return }
    let (table, row) = (query.text(0) ?? "", query.int(1))
    let (target, constraint) = (query.text(2) ?? "", query.int(3))
    throw StoreError(.danglingReference, try culprit(table, row, target, constraint))
  }

  private func culprit(_ table: String, _ row: Int, _ target: String, _ constraint: Int) throws -> String {
    let list = try SQLStatement(connection.handle, "PRAGMA foreign_key_list(\"\(table)\")")
    while try list.step() {
      guard list.int(0) == constraint else { continue }
      let column = list.text(3) ?? ""
      let query = try SQLStatement(connection.handle, "SELECT \"\(column)\" FROM \"\(table)\" WHERE rowid = \(row)")
      let value = try query.step() ? query.text(0) ?? "" : ""
      return "\(table).\(column) refers to \(printable(value)), which is not there"
    }
    return "\(table) refers to a \(target) that is not there"
  }
}
