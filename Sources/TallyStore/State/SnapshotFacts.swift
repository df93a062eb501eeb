import TallyCRDT

/// The facts that `Visibility` looks up, read from the states that a connection sees.
package struct SnapshotFacts: VisibilitySource {
  private let reader: StateReader
  /// Whether rows that SQLite did not take count as it took them: see `RecordFacts.isShown`.
  private let countsRefusals: Bool

  /// The facts that `reader` reads. Unless `countsRefusals`, they are what the states say, also where SQLite refuses a
  /// row.
  package init(_ reader: StateReader, countsRefusals: Bool = true) {
    (self.reader, self.countsRefusals) = (reader, countsRefusals)
  }

  package func facts(of name: AnyRecordName) throws -> RecordFacts? {
    guard let kind = reader.catalog.kind(of: name.type), let stored = try reader.record(name, kind) else { return nil }
    let state = stored.state
    let owners = try owners(of: state, kind)
    var facts = RecordFacts(state: state, deleteWins: kind.entity?.deleteWins ?? false, owners: owners)
    facts.forward = try reader.forward(of: name, state)
    facts.saysNothing = state.saysNothing(followsNewest: kind.followsNewest)
    if countsRefusals, !reader.aside.isEmpty, let entry = reader.aside[RowAddress(kind: kind.number, key: name.text)] {
      facts.isShown = entry.mode == .kept
    }
    #if PlantedFaults
      if reader.planted.contains(.noHollow) { facts.saysNothing = false }
      reader.planted.spoil(&facts, of: state)
    #endif
    return facts
  }

  /// The owners that the registers of a record name.
  func owners(of state: RecordState, _ kind: RecordKind) throws -> [RecordFacts.Owner] {
    try kind.ownerColumns.compactMap { column in
      guard let cell = state.cell(column.field, followsNewest: kind.followsNewest),
        let target = column.target(of: cell.value)
      else { return nil }
      let owner = try reader.successor(of: target) ?? target
      return RecordFacts.Owner(field: column.wireName, target: owner, stamp: cell.stamp)
    }
  }

  package func liveTags(of name: AnyRecordName) throws -> [Dot] {
    try reader.links(from: name).flatMap(\.link.element.liveDots)
  }

  package func owned(by owner: AnyRecordName) throws -> [AnyRecordName] {
    var known: Set<AnyRecordName> = []
    return try owned(by: owner, &known)
  }

  private func owned(by owner: AnyRecordName, _ known: inout Set<AnyRecordName>) throws -> [AnyRecordName] {
    guard known.insert(owner).inserted else { return [] }
    var result: [AnyRecordName] = []
    for referrer in reader.catalog.referrers[owner.type] ?? [] where referrer.column.reference?.isOwning == true {
      let query = try reader.connection.statement(referrer.rows)
      query.bind(1, owner.text)
      while try query.step() { if let name = try? AnyRecordName(query.text(0) ?? "") { result.append(name) } }
    }
    for waiting in try reader.waiting(for: owner) {
      guard let kind = reader.catalog.records[waiting.kind], let name = try? AnyRecordName(waiting.key) else {
        continue
      }
      result.append(name)
      // A duplicate that gave way to `owner`, which owns what it owned.
      if name.type == owner.type, kind.forwardField != nil, try reader.forward(of: name) == owner {
        result += try owned(by: name, &known)
      }
    }
    return result
  }
}

extension Visibility {
  /// Returns the values in the row of a visible record: the registers' values, defaults, and references only to what
  /// is visible.
  func values(
    of name: AnyRecordName, _ kind: RecordKind, _ state: RecordState
  ) throws -> [Value] {
    var values = try kind.columns.map { column in
      guard let cell = state.cell(column.field, followsNewest: kind.followsNewest), column.accepts(cell.value) else {
        return column.defaultValue
      }
      guard var target = column.target(of: cell.value) else { return cell.value }
      if column.reference?.isOwning == true {
        let isEffective = try effectiveOwners(of: name).contains { $0.field == column.wireName }
        guard isEffective else { return .null }
      }
      guard try !isShown(target) else { return cell.value }
      target = try resolved(target)
      return try isShown(target) ? .text(target.text) : .null
    }
    if !kind.counters.isEmpty { kind.counters.count(state, kind, into: &values) }
    if !kind.lenses.isEmpty { kind.lenses.show(state, kind, into: &values) }
    return values
  }
}
