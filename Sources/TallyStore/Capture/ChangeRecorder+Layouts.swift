import TallyCRDT

extension ChangeRecorder {
  /// Where the columns of each replicated table stand, by the table's name.
  static func layouts(_ catalog: Catalog, _ objects: AppObjects) -> [String: Layout] {
    var layouts: [String: Layout] = [:]
    for kind in catalog.orderedKinds {
      let names = objects.tables[kind.type]?.columns ?? []
      func place(_ column: String) -> Int32 { Int32(names.firstIndex(of: column) ?? 0) }
      layouts[kind.type] = Layout(
        kind: kind.number, count: leastCount(names, kind.columns.map(\.name) + ["id", "tally_clock"]),
        key: [place("id")], clock: place("tally_clock"),
        columns: kind.columns.map { place($0.name) },
        defaults: kind.columns.map { $0.defaultValue.isNull ? nil : $0.defaultValue },
        selfReferences: kind.columns.filter { $0.reference?.to == kind.type }.map { place($0.name) })
    }
    for link in catalog.knownLinks {
      let names = objects.tables[link.table]?.columns ?? []
      let position = link.isOrdered ? ["position"] : []
      func place(_ column: String) -> Int32 { Int32(names.firstIndex(of: column) ?? 0) }
      layouts[link.table] = Layout(
        kind: link.number, count: leastCount(names, ["source", "target", "tally_clock"] + position),
        key: [place("source"), place("target")], clock: place("tally_clock"),
        columns: position.map(place), defaults: position.map { _ in .blob([]) }, selfReferences: [])
    }
    return layouts
  }

  /// See `Layout.count`. `own` are the columns that are not the app's.
  private static func leastCount(_ names: [String], _ own: [String]) -> Int {
    let own = Set(own)
    let end = (names.lastIndex(where: own.contains) ?? names.count - 1) + 1
    return names[..<end].allSatisfy(own.contains) ? end : names.count
  }
}
