import TallyCRDT
import TallyWire

extension SeedAdoption {
  /// The field by which a duplicate says for which seed it gave way. It travels like any field.
  static let forwardField = "tally_forward"
  /// The same on the wire: it names a record, as a reference does, and outlasts what is said of the record.
  package static let forwardKey = FieldKey.key(of: forwardField, .reference)
}

// MARK: - Finding

extension SeedSet {
  /// Whether a store has duplicates of the set's records, which are to give way to them.
  func finds(_ reader: StateReader) throws -> Bool {
    try adoptions.contains { rule in
      try !reader.duplicates(rule, self).isEmpty || !reader.lateMembers(rule.type).isEmpty
    }
  }
}

extension StateReader {
  /// A record of an older app version, and the seed that it is a copy of; or one of two records with one unique value,
  /// and the other.
  struct Duplicate {
    var name: AnyRecordName
    var record: StoredRecord
    var seed: AnyRecordName
  }

  fileprivate func duplicates(_ rule: SeedAdoption, _ set: SeedSet) throws -> [Duplicate] {
    guard let kind = catalog.kind(of: rule.type), kind.isKnown else { return [] }
    let places = rule.matching.compactMap { column in kind.columns.firstIndex { $0.name == column } }
    let seeds = try naturalKeys(places, rule, set, kind)
    guard !seeds.isEmpty, places.count == rule.matching.count else { return [] }
    var found: [Duplicate] = []
    for name in try candidates(rule, kind, Set(seeds.keys.compactMap(\.first))) {
      guard let stored = try record(name, kind), stored.state.isOneInsert else { continue }
      // Beside its seed it may not show what it has.
      let values = aside.contested.wanted(stored.values, RowAddress(kind: kind.number, key: name.text), kind)
      guard let seed = seeds[places.map { values[$0] }], try mayGiveWay(name, to: seed, kind) else { continue }
      found.append(Duplicate(name: name, record: stored, seed: seed))
    }
    return found
  }

  /// The seeds by natural key, of all their versions; keys that two seeds have had are left out.
  private func naturalKeys(
    _ places: [Int], _ rule: SeedAdoption, _ set: SeedSet, _ kind: RecordKind
  ) throws -> [[Value]: AnyRecordName] {
    var result: [[Value]: AnyRecordName] = [:]
    var ambiguous = Set<[Value]>()
    for record in set.records where record.type == rule.type {
      let id = SeedIdentity.uuid(ofKey: record.key, set: set.name).uuidString.lowercased()
      guard let name = try? AnyRecordName(type: record.type, key: id), let stored = try self.record(name, kind) else {
        continue
      }
      for layer in stored.state.seed?.layers ?? [] where !layer.isRetired {
        let key = places.map { layer[kind.columns[$0].field]?.value ?? kind.columns[$0].defaultValue }
        if let other = result.updateValue(name, forKey: key), other != name { ambiguous.insert(key) }
      }
    }
    return result.filter { !ambiguous.contains($0.key) }
  }

  /// The records that an older version may have seeded: untouched as the rule says, with the first part of some natural
  /// key.
  private func candidates(_ rule: SeedAdoption, _ kind: RecordKind, _ keys: Set<Value>) throws -> [AnyRecordName] {
    // Identifiers were checked with the schema.
    let marks = Array(repeating: "?", count: keys.count).joined(separator: ", ")
    let conditions =
      ["\"\(rule.matching[0])\" IN (\(marks))"] + rule.present.map { "\"\($0)\" IS NOT NULL" }
      + rule.absent.map { "\"\($0)\" IS NULL" }
    let query = try SQLStatement(
      connection,
      "SELECT id FROM main.\"\(kind.type)\" WHERE \(conditions.joined(separator: " AND ")) ORDER BY id")
    for (index, key) in keys.sorted().enumerated() { query.bind(index + 1, key) }
    var names: [AnyRecordName] = []
    while try query.step() { if let name = try? AnyRecordName(query.text(0) ?? "") { names.append(name) } }
    for key in aside.isEmpty ? [] : keys {
      names += aside.contested.names(wanting: key, kind.number, rule.matching[0])
    }
    return names.sorted()
  }

  /// Returns whether a duplicate may give way to its seed. Where the seed itself is not visible, because a person
  /// deleted it, only a duplicate that nothing refers to gives way.
  private func mayGiveWay(_ name: AnyRecordName, to seed: AnyRecordName, _ kind: RecordKind) throws -> Bool {
    if try record(seed, kind)?.place.isVisible == true { return true }
    for (number, column, _) in catalog.referrers[name.type] ?? [] {
      guard let kind = catalog.records[number] else { continue }
      if try exists("SELECT 1 FROM main.\"\(kind.type)\" WHERE \"\(column.name)\" = ?", name) { return false }
    }
    for link in catalog.knownLinks where link.source == name.type || link.target == name.type {
      if try exists("SELECT 1 FROM main.\"\(link.table)\" WHERE source = ?1 OR target = ?1", name) { return false }
    }
    return true
  }

  private func exists(_ sql: String, _ name: AnyRecordName) throws -> Bool {
    let query = try connection.statement(text: sql + " LIMIT 1")
    query.bind(1, name.text)
    defer { query.reset() }
    return try query.step()
  }
}

// MARK: - Giving way

extension WriteTransaction {
  /// Nothing that a person wrote is written to: references to a duplicate are resolved in the view, and every cell is
  /// of rank `.adopted`, which neither wins over theirs nor counts as a touch.
  func adopt(_ set: SeedSet) throws -> [AnyRecordName] {
    var duplicates: [AnyRecordName: StateReader.Duplicate] = [:]
    for rule in set.adoptions {
      for duplicate in try reader.duplicates(rule, set) { duplicates[duplicate.name] = duplicate }
    }
    var late = Set<LateMember>()
    for rule in set.adoptions { try late.formUnion(reader.lateMembers(rule.type)) }
    let adopted = duplicates.keys.sorted()
    view.appeared.isLocal = true
    for name in adopted {
      guard let duplicate = duplicates[name], let kind = catalog.kind(of: name.type) else { continue }
      let stamp = try stamp(rank: .adopted)
      if let seed = try reader.record(duplicate.seed, kind), !seed.state.belongsToUser {
        try carryAttributes(of: duplicate, kind, stamp)
      }
      try copyMemberships(of: duplicate, stamp) { duplicates[$0]?.seed ?? $0 }
      try giveWay(duplicate, kind)
    }
    try copy(late) { try duplicates[$0]?.seed ?? reader.successor(of: $0) ?? $0 }
    return adopted
  }

  /// Copies members that came to duplicates since they gave way. `moved` gives what an end has become.
  func copy(_ late: Set<LateMember>, moved: (AnyRecordName) throws -> AnyRecordName) throws {
    for member in late.sorted(by: { ($0.kind, $0.key.text) < ($1.kind, $1.key.text) }) {
      guard let kind = catalog.links[member.kind] else { continue }
      let stamp = try stamp(rank: .adopted)
      try copyMember(member.key, to: try member.key.moved(moved), kind, stamp)
    }
  }

  func giveWay(_ duplicate: StateReader.Duplicate, _ kind: RecordKind) throws {
    let forward = try session.numbers.field(SeedAdoption.forwardKey, kind: kind.number)
    // The first duplicate of a type makes the field, which the kind did not have.
    guard let kind = catalog.records[kind.number] else { return }
    // It may have given way to another record in an earlier life.
    let stamp = try stamp(over: duplicate.record.state[forward]?.stamp.time, rank: .adopted)
    var written = RecordState()
    written.fields = [FieldCell(field: forward, stamp: stamp, value: .text(duplicate.seed.text))]
    written.deletes = [Delete(stamp: stamp, context: context)]
    let old = duplicate.record.state
    let state = old.merging(written)
    try writer.put(duplicate.name, kind, state, previous: duplicate.record, shown: nil)
    try changed(duplicate.name, kind, from: old, to: state, dots: CollectionOfOne(stamp.dot))
    try view.markReferrers(of: duplicate.name)
  }

  /// Carries over the attributes of a duplicate: what the seed leaves open keeps the newest value that any duplicate
  /// has. No record becomes its own parent.
  func carryAttributes(of duplicate: StateReader.Duplicate, _ kind: RecordKind, _ stamp: Stamp) throws {
    guard let seed = try reader.record(duplicate.seed, kind), seed.place.isVisible else { return }
    var written = seed.state.written([])
    for (place, column) in kind.columns.enumerated() {
      guard let cell = duplicate.record.state[column.field],
        kind.lenses.family(of: place).map({ kind.columns[$0].field }).allSatisfy({ field in
          seed.state.shownSeed(followsNewest: kind.followsNewest)?[field] == nil
            && seed.state[field].map { $0.stamp.rank < .user } ?? true
        }),
        try column.target(of: cell.value).map({ try (reader.successor(of: $0) ?? $0) != duplicate.seed }) ?? true
      else { continue }
      written.fields.append(
        FieldCell(
          field: column.field, stamp: Stamp(rank: .adopted, time: cell.stamp.time, dot: stamp.dot), value: cell.value))
    }
    let state = seed.state.merging(written)
    guard state != seed.state else { return }
    var shown = seed.values
    for (index, column) in kind.columns.enumerated() {
      if let cell = state.cell(column.field, followsNewest: kind.followsNewest) { shown[index] = cell.value }
    }
    kind.counters.count(state, kind, into: &shown)
    kind.lenses.show(state, kind, into: &shown)
    try writer.put(duplicate.seed, kind, state, previous: seed, shown: shown)
    try changed(duplicate.seed, kind, from: seed.state, to: state, dots: CollectionOfOne(stamp.dot))
    view.mark(duplicate.seed)
  }
}
