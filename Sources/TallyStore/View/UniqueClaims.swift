import TallyCRDT

/// Which of two records shows if a unique index or rule admits only one: the one whose claim is the older.
///
/// A claim is the latest of the writes that the indexed columns hold and of the beginning of the record's life: who
/// restores a record takes nothing from the one that has its value by now. Of equal claims the lesser name's counts as
/// older. So it follows from the states alone, and devices with the same index show the same, whichever record came
/// first.
struct UniqueClaim: Comparable {
  private(set) var stamp: Stamp?
  private var name: AnyRecordName

  init(_ name: AnyRecordName, _ state: RecordState, _ kind: RecordKind, _ columns: [String], _ reader: StateReader) {
    self.name = name
    var beginnings = [state.existence, state.life?.stamp].compactMap { $0 }
    #if PlantedFaults
      if reader.planted.contains(.claimOfColumns) { beginnings = [] }
    #endif
    stamp =
      (kind.columns.filter { columns.contains($0.name) }
      .compactMap { state.cell($0.field, followsNewest: kind.followsNewest)?.stamp } + beginnings).max()
  }

  static func < (lhs: UniqueClaim, rhs: UniqueClaim) -> Bool {
    switch (lhs.stamp, rhs.stamp) {
    case (let mine?, let theirs?) where mine != theirs: mine < theirs
    case (nil, _?): true
    case (_?, nil): false
    default: lhs.name < rhs.name
    }
  }
}

extension RecordKind {
  /// The values that a row can show while its unique values are still in other rows: null, or what no other row has.
  /// `unique` are the columns in question; nil for all that change.
  func parked(
    _ shown: [Value], over before: [Value], _ name: AnyRecordName, _ row: RowID, _ unique: Set<String>?
  ) -> [Value] {
    var values = shown
    for (index, column) in columns.enumerated() where shown[index] != before[index] {
      guard unique?.contains(column.name) ?? true else { continue }
      let placeholder = column.defaultValue.isNull ? .null : Self.placeholder(for: shown[index], name, row)
      // A value that the column may not have would be refused where a trigger of the app's writes to the row.
      if placeholder.isNull || column.accepts(placeholder) { values[index] = placeholder }
    }
    return values
  }

  private static func placeholder(for value: Value, _ name: AnyRecordName, _ row: RowID) -> Value {
    switch value {
    case .null: .null
    case .integer: .integer(.min &+ Int64(row.rawValue))
    case .real: .real(-1e300 * (1 + Double(row.rawValue) * 1e-9))
    case .text: .text(name.text)
    case .blob: .blob(Array(name.text.utf8))
    }
  }
}

extension ViewMaintainer {
  /// Takes the rows out of the view whose unique values others hold for good.
  /// - Returns: whether there were any.
  func withholdParked() throws -> Bool {
    var hasAny = false
    for address in reader.aside.news.sorted() {
      guard let entry = reader.aside[address], entry.parked != nil, let kind = catalog.records[address.kind],
        let name = try? AnyRecordName(address.key), let stored = try reader.record(name, kind)
      else { continue }
      changeVisibility()
      guard try writer.put(name, kind, stored.state, previous: stored, shown: nil) else { continue }
      hasAny = true
      try reader.aside.insert(
        address, SetAside.Entry(mode: .withheld, reason: entry.reason, isUnique: true), connection)
      try markReferrers(of: name)
    }
    return hasAny
  }

  /// Lets a record that a unique index keeps out take the place of those whose claim is younger. They are set aside in
  /// its stead.
  /// - Returns: whether it is shown now.
  func makeRoom(for name: AnyRecordName, _ kind: RecordKind, _ shown: [Value]) throws -> Bool {
    let address = RowAddress(kind: kind.number, key: name.text)
    guard reader.aside[address]?.isUnique == true, let stored = try reader.record(name, kind) else { return false }
    // What a write of this store's brings back gives way to what is there; its life begins later: `sayWhatAppeared()`.
    guard !appeared.returned.contains(name) else { return false }
    var rivals: [AnyRecordName: StoredRecord] = [:]
    for index in catalog.uniqueIndexes[kind.number] ?? [] {
      let columns = index.map(\.column)
      let claim = UniqueClaim(name, stored.state, kind, columns, reader)
      for rival in try records(equalTo: shown, in: index, kind) where rival != name {
        guard let other = try reader.record(rival, kind) else { continue }
        let isOlder = claim < UniqueClaim(rival, other.state, kind, columns, reader)
        #if PlantedFaults
          guard !reader.planted.contains(.youngerClaimShows) else {
            if isOlder { return false }
            rivals[rival] = other
            continue
          }
        #endif
        // What is older stays, and with it this record stays out.
        guard isOlder else { return false }
        rivals[rival] = other
      }
    }
    // Where SQLite does not take what a rule shows instead, the oldest claim's record is shown, and no other one.
    for unique in UniquePlaces.contested(of: kind) where reader.aside[address]?.refusesOther == true {
      guard let key = unique.key(of: shown), unique.key(of: stored.state) == key else { continue }
      let columns = unique.places.map { kind.columns[$0].name }
      let claim = UniqueClaim(name, stored.state, kind, columns, reader)
      for rival in try UniqueRows(connection: connection).names(showing: key, unique) where rival != name {
        // What shows the value instead of its own is about to show another.
        guard let other = try reader.record(rival, kind), unique.key(of: other.state) == key else { continue }
        guard claim < UniqueClaim(rival, other.state, kind, columns, reader) else { return false }
        rivals[rival] = other
      }
    }
    guard !rivals.isEmpty else { return false }
    for (rival, other) in rivals.sorted(by: { $0.key < $1.key }) {
      guard try writer.put(rival, kind, other.state, previous: other, shown: nil) else { return false }
      let entry = SetAside.Entry(mode: .withheld, reason: "UNIQUE: \(name) has the value")
      try reader.aside.insert(RowAddress(kind: kind.number, key: rival.text), entry, connection)
      changeVisibility()
      try markReferrers(of: rival)
    }
    let isShown = try writer.put(name, kind, stored.state, previous: stored, shown: shown)
    changeVisibility()
    guard isShown else {
      // Something else keeps it out: then they are shown as before.
      for rival in rivals.keys { mark(rival) }
      return false
    }
    try markWaiting(for: name)
    return true
  }

  /// The time of the latest claim on what a record would show in columns that are unique; nil if no other record has
  /// it.
  func latestRival(of name: AnyRecordName, _ kind: RecordKind, _ state: RecordState) throws -> HybridTime? {
    var latest: HybridTime?
    func look(at rival: AnyRecordName, _ columns: [String]) throws {
      guard rival != name, let other = try reader.record(rival, kind),
        let stamp = UniqueClaim(rival, other.state, kind, columns, reader).stamp
      else { return }
      latest = max(latest ?? stamp.time, stamp.time)
    }
    let indexes = catalog.uniqueIndexes[kind.number] ?? []
    let shown = try indexes.isEmpty ? [] : currentVisibility().values(of: name, kind, state)
    for index in indexes {
      for rival in try records(equalTo: shown, in: index, kind) { try look(at: rival, index.map(\.column)) }
    }
    for unique in UniquePlaces.contested(of: kind) {
      guard let key = unique.key(of: state) else { continue }
      let rivals = try UniqueRows(connection: connection).names(showing: key, unique)
      for rival in rivals { try look(at: rival, unique.places.map { kind.columns[$0].name }) }
    }
    return latest
  }

  private func records(
    equalTo values: [Value], in index: Catalog.UniqueIndex, _ kind: RecordKind
  ) throws -> [AnyRecordName] {
    let places = index.map { part in kind.columns.firstIndex { $0.name == part.column } }
    guard !places.contains(nil) else { return [] }
    let conditions = index.map { "\"\($0.column)\" = ? COLLATE \"\($0.collation)\"" }.joined(separator: " AND ")
    let query = try connection.statement(text: "SELECT id FROM main.\"\(kind.type)\" WHERE \(conditions)")
    for (position, place) in places.compactMap({ $0 }).enumerated() { query.bind(position + 1, values[place]) }
    var names: [AnyRecordName] = []
    while try query.step() { if let name = try? AnyRecordName(query.text(0) ?? "") { names.append(name) } }
    return names
  }
}
