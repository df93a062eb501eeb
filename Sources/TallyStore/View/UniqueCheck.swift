import TallyCRDT

/// Compares what `tally_unique` lists with what follows from the states. It reads, and changes nothing.
struct UniqueCheck {
  private let reader: StateReader

  init(_ reader: StateReader) { self.reader = reader }

  /// One line for each difference. The rows themselves are compared with the list elsewhere.
  func problems() throws -> [String] {
    guard reader.catalog.schema.hasUniqueRules else { return [] }
    var problems: [String] = []
    let contested = reader.aside.contested
    var keys = Set<UniqueKey>()
    for kind in reader.catalog.orderedKinds {
      for unique in UniquePlaces.all(of: kind) where try !hasIndex(unique) {
        problems.append("\(kind.type).\(unique.column): no index keeps its values unique")
      }
    }
    for (address, columns) in contested.entries.sorted(by: { $0.key < $1.key }) {
      for column in columns.keys.sorted() {
        guard let key = try key(of: address, column) else {
          problems.append("\(address.key).\(column) is listed as contested without need")
          continue
        }
        keys.insert(key)
      }
    }
    for key in keys.sorted() { problems += try self.problems(of: key) }
    return problems
  }

  private func key(of address: RowAddress, _ column: String) throws -> UniqueKey? {
    guard let kind = reader.catalog.records[address.kind], let name = try? AnyRecordName(address.key),
      let unique = UniquePlaces.contested(of: kind).first(where: { $0.column == column }),
      let stored = try reader.record(name, kind), stored.isVisible
    else { return nil }
    return unique.key(of: stored.state)
  }

  private func problems(of key: UniqueKey) throws -> [String] {
    guard let group = try UniqueGroup(key, reader) else { return [] }
    var problems = group.strangers.map { "\($0.name).\(group.unique.column) is listed as contested without need" }
    problems += group.squatters.map { "\($0).\(group.unique.column) shows what another record has" }
    for member in group.members {
      let address = RowAddress(kind: key.kind, key: member.name.text)
      let entry = reader.aside.contested[address]?[group.unique.column]
      let wanted = ContestedValues.Entry(wanted: group.wanted, shown: member.target, holder: group.holder)
      if member.current != member.target || entry != (member.name == group.holder ? nil : wanted) {
        problems.append("\(member.name).\(group.unique.column) does not show what follows from who has the value")
      }
    }
    return problems
  }

  private func hasIndex(_ unique: UniquePlaces) throws -> Bool {
    guard let entity = unique.kind.entity else { return true }
    let query = try reader.connection.statement(
      "SELECT 1 FROM main.sqlite_master WHERE type = 'index' AND name = ? AND tbl_name = ?")
    defer { query.reset() }
    query.bind(1, entity.unique[unique.rule].indexName(unique.kind.type))
    query.bind(2, unique.kind.type)
    return try query.step()
  }
}
