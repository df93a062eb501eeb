import TallyCRDT

/// What `Visibility` looks up, read from the states that a connection sees.
struct SnapshotFacts: VisibilitySource {
  private let reader: StateReader

  init(_ reader: StateReader) { self.reader = reader }

  func facts(of name: AnyRecordName) throws -> RecordFacts? {
    guard let kind = reader.catalog.kind(of: name.type), let stored = try reader.record(name, kind) else { return nil }
    let state = stored.state
    let owners = kind.ownerColumns.compactMap { column in
      state[column.field].flatMap { cell in
        column.target(of: cell.value).map { RecordFacts.Owner(field: column.wireName, target: $0, stamp: cell.stamp) }
      }
    }
    return RecordFacts(state: state, deleteWins: kind.entity?.deleteWins ?? false, owners: owners)
  }

  func liveTags(of name: AnyRecordName) throws -> [Dot] {
    try reader.links(from: name).flatMap(\.link.element.liveDots)
  }

  func owned(by owner: AnyRecordName) throws -> [AnyRecordName] {
    var result: [AnyRecordName] = []
    for (number, column) in reader.catalog.referrers[owner.type] ?? [] where column.reference?.onDelete == .cascade {
      guard let kind = reader.catalog.records[number] else { continue }
      let query = try reader.connection.statement("SELECT id FROM \"\(kind.type)\" WHERE \"\(column.name)\" = ?")
      query.bind(1, owner.text)
      while try query.step() { if let name = try? AnyRecordName(query.text(0) ?? "") { result.append(name) } }
    }
    for waiting in try reader.waiting(for: owner) where reader.catalog.records[waiting.kind] != nil {
      if let name = try? AnyRecordName(waiting.key) { result.append(name) }
    }
    return result
  }
}

extension Visibility {
  /// What the row of a visible record shows: the registers' values, defaults, and references only to what is visible.
  func values(
    of name: AnyRecordName, _ kind: RecordKind, _ state: RecordState
  ) throws -> [Value] {
    try kind.columns.map { column in
      guard let cell = state[column.field], column.accepts(cell.value) else { return column.defaultValue }
      guard let target = column.target(of: cell.value) else { return cell.value }
      if column.reference?.onDelete == .cascade {
        let isEffective = try effectiveOwners(of: name).contains { $0.field == column.wireName }
        guard isEffective else { return .null }
      }
      return try isVisible(target) ? cell.value : .null
    }
  }
}
