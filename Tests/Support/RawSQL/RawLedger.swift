import TallyTesting

/// What acknowledged transactions wrote, and what each had seen: who was told that a value is kept finds it again.
///
/// It knows no rule of the merge but these: a value may only give way to one whose author had not seen it overwritten,
/// and a record is there if its last touch had seen every delete.
struct RawLedger {
  private struct Register: Hashable {
    var record: String
    var field: String
  }

  private struct Entry {
    var past: EventSet
    var writes: [Register: String] = [:]
    /// Values that the transaction may have written again, or may have left alone.
    var restated: [Register: String] = [:]
    var touched: Set<String> = []
    var deleted: Set<String> = []
    /// Records of which nobody else may ever have seen what was written: deleted before any store looked.
    var unseen: Set<String> = []
  }

  private var entries: [Entry] = []
  /// For each device what it has seen for certain.
  private var seen: [EventSet]
  /// For each device what was written from outside since a store last looked, as far as is known.
  private var uncaptured: [[Int]]
  /// Records of which more is known than their writes: restored or seeded.
  private var released: Set<String> = []
  private let features: Set<RawFeature>

  init(_ history: RawHistory) {
    seen = Array(repeating: EventSet(), count: history.devices)
    uncaptured = Array(repeating: [], count: history.devices)
    features = history.features
  }

  // MARK: What happens

  /// Notes what a transaction of a device has changed, between its first statement and its last. If `isOutside`, no
  /// store made it, and `isFirst` says whether a store has looked since the last such one. `restates` is a table whose
  /// rows may have been deleted unnoticed and inserted again, so that all their values may count as written.
  mutating func note(
    _ device: Int, from before: RawRows, to after: RawRows, isOutside: Bool = false, isFirst: Bool = true,
    restates: String? = nil
  ) {
    if !isOutside || isFirst { uncaptured[device] = [] }
    var entry = Entry(past: seen[device])
    for (table, id) in before.differences(to: after) where isTracked(id) {
      let (old, new) = (before.tables[table]?[id], after.tables[table]?[id])
      guard let new else {
        entry.deleted.insert(id)
        continue
      }
      entry.touched.insert(id)
      for field in RawVersion.fields(table) where isTracked(table, field) {
        // A new life that an older app begins has the defaults of the fields that it does not know.
        let begun = old == nil ? RawVersion.initial(field) : nil
        guard let value = new[field] ?? begun, value != old?[field] else { continue }
        entry.writes[Register(record: id, field: field)] = value
      }
    }
    for (id, row) in restates.flatMap({ after.tables[$0] }) ?? [:] where isTracked(id) {
      for (field, value) in row where isTracked(String(id.prefix(1)), field) {
        entry.restated[Register(record: id, field: field)] = value
      }
    }
    guard !entry.touched.isEmpty || !entry.deleted.isEmpty || !entry.writes.isEmpty || !entry.restated.isEmpty else {
      return
    }
    for event in uncaptured[device] { entries[event].unseen.formUnion(entry.deleted) }
    if isOutside { uncaptured[device].append(entries.count) }
    entries.append(entry)
    seen[device].insert(entries.count - 1)
  }

  /// A device has dropped a table: values are gone with it, of which it may have been the only one to know, and so are
  /// their times, over which what is written next would win.
  mutating func drop(_ table: String, _ device: Int) {
    for (event, entry) in entries.enumerated() where seen[device].contains(event) {
      released.formUnion(entry.writes.keys.map(\.record).filter { $0.hasPrefix(table) })
    }
  }

  func knowledge(of device: Int) -> EventSet { seen[device] }

  mutating func learn(_ device: Int, _ known: EventSet) { seen[device].formUnion(known) }

  mutating func meet(_ one: Int, _ other: Int) {
    let both = seen[one].union(seen[other])
    (seen[one], seen[other]) = (both, both)
  }

  /// A record is brought back by the store, with what owns it: all that can be said is that everybody sees the same.
  mutating func release(_ record: String) {
    let hasNoOwner = record.hasPrefix("P") || record.hasPrefix("N")
    released.formUnion(hasNoOwner ? [record] : ["F", "G"])
  }

  /// Seeds name their records by UUIDs.
  private func isTracked(_ id: String) -> Bool { !id.contains("-") }

  /// Columns that triggers write during merges have values that nobody was told.
  private func isTracked(_ table: String, _ field: String) -> Bool {
    switch (table, field) {
    case ("P", "pos"): !features.contains(.countTrigger)
    // Of a row that nobody saw go, an older app does not know that it had them.
    case ("P", "motto"), ("P", "age"): !features.contains(.quietReplace)
    // The one shows what the other was given.
    case ("G", "rating"), ("G", "stars"): !features.contains(.upgrades)
    case ("N", "stamp"): !features.contains(.ownRowTrigger)
    case ("N", "edits"): !features.contains(.loopTrigger)
    default: true
    }
  }

  private func isReleased(_ record: String) -> Bool {
    if released.contains(record) || released.contains(String(record.prefix(1))) { return true }
    let mayDiffer: Set<RawFeature> = [.validation, .undead, .uniqueIndex]
    return record.hasPrefix("N") && !features.isDisjoint(with: mayDiffer)
  }

  // MARK: What must be

  /// What is lost, if all that was acknowledged has come to a device that shows these rows.
  func loss(in rows: RawRows) -> String? {
    var writes: [Register: [(event: Int, value: String)]] = [:]
    for (event, entry) in entries.enumerated() {
      for (register, value) in entry.writes { writes[register, default: []].append((event, value)) }
    }
    for (register, all) in writes.sorted(by: { ($0.key.record, $0.key.field) < ($1.key.record, $1.key.field) }) {
      guard !isReleased(register.record), let row = rows.tables[String(register.record.prefix(1))]?[register.record]
      else { continue }
      func isOverwritten(_ event: Int) -> Bool {
        all.contains { later in
          let entry = entries[later.event]
          return entry.past.contains(event) && !entry.unseen.contains(register.record)
        }
      }
      let last = all.filter { !isOverwritten($0.event) }
      guard let shown = row[register.field], !last.contains(where: { $0.value == shown }),
        !entries.indices.contains(where: { entries[$0].restated[register] == shown && !isOverwritten($0) })
      else { continue }
      return "\(register.record) shows \(register.field) \(shown); last written: \(last.map(\.value))"
    }
    return missing(in: rows)
  }

  /// Only of records without owners: others disappear with what owns them.
  private func missing(in rows: RawRows) -> String? {
    var touched: [String: [Int]] = [:]
    var deleted: [String: [Int]] = [:]
    for (event, entry) in entries.enumerated() {
      for id in entry.touched { touched[id, default: []].append(event) }
      for id in entry.deleted { deleted[id, default: []].append(event) }
    }
    for (id, touches) in touched.sorted(by: { $0.key < $1.key }) where id.hasPrefix("P") || id.hasPrefix("N") {
      guard !isReleased(id), rows.tables[String(id.prefix(1))]?[id] == nil else { continue }
      let deletes = deleted[id] ?? []
      if touches.contains(where: { touch in deletes.allSatisfy { entries[touch].past.contains($0) } }) {
        return "\(id) is not there, and nobody who had seen its last write has deleted it"
      }
    }
    return nil
  }
}
