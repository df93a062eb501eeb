import TallyCRDT
import TallySchema

#if PlantedFaults
  import TallyFaults
#endif

/// Which records become one under rules `.merge`: of those that have one value the one whose name comes first stays, on
/// whichever device they are merged. So two devices that merge at once, and know different records, never merge two of
/// them into each other.
///
/// It reads, and changes nothing.
struct DuplicateMerge {
  private let reader: StateReader

  init(_ reader: StateReader) { self.reader = reader }

  /// The types with such a rule.
  private var kinds: [RecordKind] {
    reader.catalog.orderedKinds.filter { $0.isKnown && UniquePlaces.all(of: $0).contains { $0.policy == .merge } }
  }

  /// The records that are to give way, in the order of their names. Of records that have values in common with two
  /// groups the others follow the next time.
  func duplicates() throws -> [StateReader.Duplicate] {
    var found: [StateReader.Duplicate] = []
    var taken = Set<AnyRecordName>()
    for kind in kinds {
      for unique in UniquePlaces.all(of: kind) where unique.policy == .merge {
        for group in try groups(unique) {
          var names = group.filter { !taken.contains($0) }.sorted(by: Self.precedes)
          #if PlantedFaults
            if reader.planted.contains(.mergeByClaim) { names = try byClaim(names, unique) }
          #endif
          // A seed stays whatever its name: its layers cannot be taken back.
          let seed = try names.first { try reader.record($0, kind)?.state.seed != nil }
          guard let target = seed ?? names.first, names.count > 1 else { continue }
          for name in names where name != target {
            guard let stored = try reader.record(name, kind), stored.state.seed == nil else { continue }
            found.append(StateReader.Duplicate(name: name, record: stored, seed: target))
          }
          taken.formUnion(names)
        }
      }
    }
    return found.sorted { $0.name < $1.name }
  }

  /// The records that have one value, and show.
  private func groups(_ unique: UniquePlaces) throws -> [[AnyRecordName]] {
    var groups: [Value: Set<AnyRecordName>] = [:]
    for (address, columns) in reader.aside.contested.entries where address.kind == unique.kind.number {
      guard let entry = columns[unique.column], let holder = entry.holder, let name = try? AnyRecordName(address.key)
      else { continue }
      groups[entry.wanted, default: [holder]].insert(name)
    }
    return try groups.keys.sorted().map { value in
      try (groups[value] ?? []).filter { name in
        let address = RowAddress(kind: unique.kind.number, key: name.text)
        guard reader.aside[address] == nil, let stored = try reader.record(name, unique.kind) else { return false }
        return stored.place.isVisible
      }
    }
  }

  #if PlantedFaults
    private func byClaim(_ names: [AnyRecordName], _ unique: UniquePlaces) throws -> [AnyRecordName] {
      let columns = unique.places.map { unique.kind.columns[$0].name }
      let claims = try names.compactMap { name in
        try reader.record(name, unique.kind).map {
          (name: name, claim: UniqueClaim(name, $0.state, unique.kind, columns, reader))
        }
      }
      return claims.sorted { $0.claim < $1.claim }.map(\.name)
    }
  #endif

  /// The order of the names of which the first stays: those that seeds can have, and then by bytes.
  static func precedes(_ one: AnyRecordName, _ other: AnyRecordName) -> Bool {
    let (first, second) = (SeedIdentity.mayBeSeed(one), SeedIdentity.mayBeSeed(other))
    return first == second ? one < other : first
  }

  /// The members of records that gave way that came since.
  func lateMembers() throws -> Set<LateMember> {
    try kinds.reduce(into: []) { try $0.formUnion(reader.lateMembers($1.type, ofMerged: true)) }
  }

  /// The records that gave way to one that was deleted by a person who did not know of it, or that a newer version of
  /// default data has withdrawn. They were not deleted themselves, so they come back. Reads all hidden records.
  func stranded() throws -> [AnyRecordName] {
    var found: [AnyRecordName] = []
    let visibility = Visibility(SnapshotFacts(reader))
    for kind in kinds where kind.forwardField != nil {
      try reader.forEachHiddenRecord(kind.number) { name, stored in
        if try reader.forward(of: name, stored.state) != nil, try isStranded(name, stored.state),
          try !visibility.isHollow(name)
        {
          found.append(name)
        }
      }
    }
    return found.sorted()
  }

  /// Whether a record gave way to one that is gone, although nobody who deleted that one, or any between the two, knew
  /// of all that there is of this one.
  func isStranded(_ name: AnyRecordName, _ state: RecordState) throws -> Bool {
    #if PlantedFaults
      if reader.planted.contains(.strandedStay) { return false }
    #endif
    // What the database of this device refuses is there all the same.
    let facts = SnapshotFacts(reader, countsRefusals: false)
    let visibility = Visibility(facts)
    guard let own = try facts.facts(of: name), !own.isBeaten, let successor = try reader.successor(of: name),
      try !visibility.isVisible(successor), case let edits = try visibility.touches(of: name),
      !state.personalContext.covers(edits)
    else { return false }
    // One of the merges is enough: several devices may have made the same one.
    var merges = [state.deletes.filter { $0.stamp.rank == .adopted }]
    var (next, known): (AnyRecordName?, Set<AnyRecordName>) = (try reader.forward(of: name), [name])
    while let link = next, known.insert(link).inserted, let stored = try stored(link) {
      let seen = stored.state.personalContext
      let knows = merges.allSatisfy { deletes in deletes.contains { seen.covers($0.stamp.dot) } }
      if knows, seen.covers(edits) { return false }
      // It gave way to default data that was gone already. Any other record was there, whatever it had outlived.
      if stored.state.seed != nil, !seen.isEmpty, merges.last?.contains(where: { $0.context.covers(seen) }) == true {
        return false
      }
      merges.append(stored.state.deletes.filter { $0.stamp.rank == .adopted })
      next = try reader.forward(of: link)
    }
    return true
  }

  /// Whether a record gave way to another, and was deleted with it.
  func isDeleted(_ name: AnyRecordName, with other: AnyRecordName) throws -> Bool {
    guard name.type == other.type, try reader.successor(of: name) == other, let stored = try stored(name) else {
      return false
    }
    return try !kinds.contains { $0.type == name.type } || !isStranded(name, stored.state)
  }

  private func stored(_ name: AnyRecordName) throws -> StoredRecord? {
    try reader.catalog.kind(of: name.type).flatMap { try reader.record(name, $0) }
  }
}

extension DuplicateMerge {
  /// Merges what is to be merged now, and brings back what nobody deleted. Nothing that a person wrote is written to,
  /// as with adoption.
  static func carryOut(_ transaction: WriteTransaction) throws -> DuplicateReport {
    try transaction.reader.refuseDamage()
    var report = DuplicateReport()
    let (reader, merge) = (transaction.reader, DuplicateMerge(transaction.reader))
    report.restored = try merge.stranded()
    for name in report.restored { _ = try transaction.restore(name) }
    let (duplicates, late) = (try merge.duplicates(), try merge.lateMembers())
    transaction.view.appeared.isLocal = true
    report.merged = Dictionary(uniqueKeysWithValues: duplicates.map { ($0.name, $0.seed) })
    for duplicate in duplicates {
      guard let kind = transaction.catalog.kind(of: duplicate.name.type) else { continue }
      let stamp = try transaction.stamp(rank: .adopted)
      try transaction.carryAttributes(of: duplicate, kind, stamp)
      try transaction.copyMemberships(of: duplicate, stamp) { report.merged[$0] ?? $0 }
      try transaction.giveWay(duplicate, kind)
    }
    report.members = late.count
    try transaction.copy(late) { try reader.successor(of: $0) ?? $0 }
    return report
  }
}
