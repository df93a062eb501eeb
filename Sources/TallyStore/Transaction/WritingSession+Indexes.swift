extension WritingSession {
  /// Takes note of indexes of the app's that forbid to write clocks in place, or that admit a value once, and of
  /// tables that it has rebuilt without their references.
  func readIndexes(_ objects: AppObjects) {
    let tables =
      reader.catalog.orderedKinds.map { ($0.type, $0.number) }
      + reader.catalog.knownLinks.map { ($0.table, $0.number) }
    reader.catalog.updatesClocks = Set(
      tables.filter {
        objects.tablesWithExpressionIndexes.contains($0.0) || objects.tablesWithVirtualColumns.contains($0.0)
      }.map { $0.1 })
    defersKeys = !objects.tablesWithImmediateKeys.isEmpty
    reader.catalog.resolvesConflicts = Set(
      tables.filter { objects.tablesWithConflictClauses.contains($0.0) }.map { $0.1 })
    reader.catalog.uniqueIndexes = Dictionary(
      uniqueKeysWithValues: tables.compactMap { table, kind in
        objects.wholeUniqueIndexes[table].map { (kind, $0) }
      })
    reader.catalog.uniqueColumns = Dictionary(
      uniqueKeysWithValues: tables.compactMap { table, kind in
        guard !objects.tablesWithExpressionIndexes.contains(table) else { return nil }
        return (kind, Set((objects.uniqueIndexes[table] ?? []).flatMap { $0.map(\.column) }))
      })
    func isChecked(_ table: String, _ column: String, _ target: String) -> Bool {
      objects.checkedColumns[table]?[column]?.lowercased() == target.lowercased()
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
