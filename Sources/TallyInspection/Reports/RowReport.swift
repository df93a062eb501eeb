import TallyCRDT
import TallyStore

/// A page of rows of one type.
package struct RowReport: Sendable, Codable {
  /// A record.
  package struct Row: Sendable, Codable {
    /// The record's name.
    package var name: String
    /// The values of the shown columns.
    package var values: [ValuePreview]
    /// Why the app does not see it; nil if it does.
    package var hidden: PresenceReport?
    /// The stores that lack the record or have it in an older state, by their places; empty if none is known to.
    package var lackedBy: [Int]
  }

  /// The type.
  package var type: String
  /// The shown columns, and how many there are in all.
  package var columns: [String], columnCount: Int
  /// The rows.
  package var rows: [Row]
  /// What to ask for the next page with; nil at the end.
  package var next: String?

  /// A page of what the app sees, or of what it does not.
  /// - Parameters:
  ///   - store: the store.
  ///   - query: which rows of which type.
  ///   - isHidden: hidden records in place of those that the app sees.
  ///   - directory: the names of replicas.
  ///   - others: the vectors of other stores, by their places, to mark what they lack.
  ///   - isOver: says that a search has taken long enough.
  /// - Throws: what reading the store throws.
  package init(
    of store: Store, _ query: RowQuery, isHidden: Bool, _ directory: ReplicaDirectory,
    besides others: [Int: StateVector] = [:], until isOver: () -> Bool
  ) throws {
    let page = try isHidden ? store.hiddenRows(query, until: isOver) : store.rows(query, until: isOver)
    let names = try store.schema[query.type]?.columnNames ?? []
    type = query.type
    columns = Array(names[query.columns.clamped(to: 0..<names.count)])
    columnCount = names.count
    next = page.next.map { "\($0)" }
    rows = try page.rows.map { row in
      let name = try? AnyRecordName(row.name)
      var presence: PresenceReport?
      if isHidden, let name { presence = PresenceReport(of: name, try store.presence(of: name), directory) }
      return Row(
        name: row.name, values: row.values, hidden: presence,
        lackedBy: try Self.lacking(row, name, in: store, others))
    }
  }

  private static func lacking(
    _ row: RowPage.Row, _ name: AnyRecordName?, in store: Store, _ others: [Int: StateVector]
  ) throws -> [Int] {
    guard !others.isEmpty, let name else { return [] }
    let dots = try store.dots(of: name)
    return others.filter { _, vector in dots.contains { !vector.covers($0) } }.keys.sorted()
  }
}
