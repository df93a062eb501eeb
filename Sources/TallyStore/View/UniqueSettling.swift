import TallyCRDT

/// Makes rows show what their groups say: see `UniqueGroup`. It writes rows through `StateWriter`, and what they show
/// instead of their values into `tally_unique`; never a state.
struct UniqueSettling {
  let view: ViewMaintainer
  private var reader: StateReader { view.reader }

  /// How often one group is looked at: triggers of the app's that answer each other's writes never end.
  private static let rounds = 16
  /// How often rows are settled for what was decided here, for the same reason.
  static let repetitions = 64

  /// Looks at the groups that were marked, until none is.
  /// - Returns: whether rows have changed, so that others may have to.
  func settle() throws -> Bool {
    var hasChanged = false
    var looks: [UniqueKey: Int] = [:]
    while let key = reader.aside.contested.takeMark() {
      looks[key, default: 0] += 1
      guard looks[key, default: 0] <= Self.rounds,
        let group = try UniqueGroup(key, reader, returned: Self.returned(view))
      else { continue }
      if try settle(group) { hasChanged = true }
    }
    return hasChanged
  }

  private static func returned(_ view: ViewMaintainer) -> Set<AnyRecordName> {
    #if PlantedFaults
      if view.reader.planted.contains(.restoreTakes) { return [] }
    #endif
    return view.appeared.returned
  }

  private func settle(_ group: UniqueGroup) throws -> Bool {
    var hasChanged = false
    for stranger in group.strangers where try forget(stranger.name, group) {
      guard stranger.isVisible else { continue }
      view.mark(stranger.name)
      hasChanged = true
    }
    for name in group.squatters { hasChanged = try vacate(name, group) || hasChanged }
    // What another one of them is to show must be free first.
    let targets = Set(group.members.filter { $0.name != group.holder }.map(\.target)).subtracting([.null])
    for member in group.members where member.current != member.target && targets.contains(member.current) {
      let value = try UniqueParking.standIn(
        for: group.wanted, of: member.name, group.unique, view.connection, besides: targets.union([member.current]))
      if try show(value, member.name, group) { hasChanged = true }
    }
    for member in group.members where member.name != group.holder {
      let entry = ContestedValues.Entry(wanted: group.wanted, shown: member.target, holder: group.holder)
      try insert(member.name, entry, group)
      if try show(member.target, member.name, group) { hasChanged = true }
    }
    guard let holder = group.holder else { return hasChanged }
    _ = try forget(holder, group)
    return try show(group.wanted, holder, group) || hasChanged
  }

  /// Takes a text from a record that shows it instead of what it has, since another one has it.
  private func vacate(_ name: AnyRecordName, _ group: UniqueGroup) throws -> Bool {
    let address = RowAddress(kind: group.key.kind, key: name.text)
    guard var entry = reader.aside.contested[address]?[group.unique.column] else { return false }
    entry.shown = try UniqueParking.standIn(
      for: entry.wanted, of: name, group.unique, view.connection, besides: [entry.shown])
    try insert(name, entry, group)
    reader.aside.contested.mark(UniqueKey(kind: group.key.kind, rule: group.key.rule, values: [entry.wanted]))
    reader.aside.contested.mark(group.key)
    return try show(entry.shown, name, group)
  }

  private func insert(_ name: AnyRecordName, _ entry: ContestedValues.Entry, _ group: UniqueGroup) throws {
    let address = RowAddress(kind: group.key.kind, key: name.text)
    guard reader.aside.contested[address]?[group.unique.column] != entry else { return }
    try reader.aside.contested.insert(address, group.unique.column, entry, view.connection)
    view.writer.touch(ContestedValue.databaseTableName)
  }

  /// - Returns: whether the record was listed.
  private func forget(_ name: AnyRecordName, _ group: UniqueGroup) throws -> Bool {
    let address = RowAddress(kind: group.key.kind, key: name.text)
    guard reader.aside.contested[address]?[group.unique.column] != nil else { return false }
    try reader.aside.contested.remove(address, group.unique.column, view.connection)
    view.writer.touch(ContestedValue.databaseTableName)
    return true
  }

  /// Writes the last column of a record's row. If something of the app's refuses that, the record is set aside, and the
  /// group is looked at without it.
  /// - Returns: whether the row is another.
  private func show(_ value: Value, _ name: AnyRecordName, _ group: UniqueGroup) throws -> Bool {
    let kind = group.unique.kind
    guard let stored = try reader.record(name, kind), stored.isVisible, stored.values[group.unique.last] != value
    else { return false }
    var shown = stored.values
    shown[group.unique.last] = value
    let address = RowAddress(kind: kind.number, key: name.text)
    var parked = reader.aside[address].flatMap { $0.parked == nil ? nil : $0 }
    view.writer.touches?.note(name)
    view.watch.note(name)
    if try view.writer.put(name, kind, stored.state, previous: stored, shown: shown) {
      // In other columns the row waits as before.
      parked?.parked = shown
      if let parked { try reader.aside.insert(address, parked, view.connection) }
      view.noteGone()
      return true
    }
    view.changeVisibility()
    try view.markReferrers(of: name)
    reader.aside.contested.mark(group.key)
    return true
  }
}
