extension WritingSession {
  /// Takes note of indexes of the app's that forbid to write clocks in place, or that admit a value once, and of
  /// tables that it has rebuilt without their references.
  func readIndexes(_ objects: AppObjects) {
    let names =
      reader.catalog.orderedKinds.map { ($0.type, $0.number) }
      + reader.catalog.knownLinks.map { ($0.table, $0.number) }
    let tables = Dictionary(uniqueKeysWithValues: names.map { ($1, objects.tables[$0] ?? AppObjects.Table()) })
    func kinds(with traits: AppObjects.Traits) -> Set<KindNumber> {
      Set(tables.filter { !$0.value.traits.isDisjoint(with: traits) }.keys)
    }
    reader.catalog.updatesClocks = kinds(with: [.expressionIndex, .virtualColumn])
    defersKeys = !objects.tables(with: .immediateKey).isEmpty
    reader.catalog.resolvesConflicts = kinds(with: .conflictClause)
    reader.catalog.uniqueIndexes = tables.mapValues(\.wholeIndexes).filter { !$0.value.isEmpty }
    for kind in reader.catalog.orderedKinds where kind.entity?.unique.isEmpty == false {
      let rules = Set(UniquePlaces.contested(of: kind).map { $0.places.map { kind.columns[$0].name } })
      reader.catalog.uniqueIndexes[kind.number]?.removeAll { index in
        rules.contains(index.map(\.column)) && index.allSatisfy { $0.collation == "BINARY" }
      }
    }
    reader.catalog.uniqueColumns = tables.filter { !$0.value.traits.contains(.expressionIndex) }.mapValues { table in
      Set((table.wholeIndexes + table.partialIndexes).flatMap { $0.map(\.column) })
    }
    func isChecked(_ table: String, _ column: String, _ target: String) -> Bool {
      objects.tables[table]?.checkedColumns[column]?.lowercased() == target.lowercased()
    }
    let records = reader.catalog.orderedKinds.filter { kind in
      !kind.columns.allSatisfy { column in
        column.reference.map { isChecked(kind.type, column.name, $0.to) } ?? true
      }
    }
    let links = reader.catalog.knownLinks.filter {
      !isChecked($0.table, "source", $0.source) || !isChecked($0.table, "target", $0.target)
    }
    reader.catalog.uncheckedReferences = Set(records.map(\.number) + links.map(\.number))
  }
}

extension UniqueIndexes {
  /// Makes indexes again that are not there any more, in a transaction of its own.
  static func follow(_ session: WritingSession) throws {
    guard try differ(session.connection, session.reader.catalog) else { return }
    try session.transaction(by: .outside) { try UniqueIndexes(transaction: $0).follow() }
  }
}
