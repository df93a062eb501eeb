/// Rows that belong together in a list, under the value that they share.
///
/// ```swift
/// let games = try Game.order(Column("name")).fetchAll(db)
/// for section in games.sections(by: { $0.name?.first }) { print(section.id ?? "–", section.rows.count) }
/// ```
///
/// `sections(by:)` returns them. A SwiftUI `List` shows them with one `ForEach` over the sections and another over the
/// rows of each.
public struct RowSection<Key: Hashable, Row>: Identifiable {
  /// The value that the rows share.
  public let id: Key
  /// The rows, in the order that they had in the list.
  public let rows: [Row]
}

extension RowSection: Sendable where Key: Sendable, Row: Sendable {}
extension RowSection: Equatable where Row: Equatable {}

extension Sequence {
  /// Returns the same rows in sections: rows with an equal key stand together, wherever they are in the list.
  ///
  /// ```swift
  /// let byLetter = try Game.order(Column("name")).fetchAll(db).sections { $0.name?.first }
  /// ```
  ///
  /// The sections come in the order of their first rows, so the query decides how they are sorted. It takes one pass,
  /// with a dictionary of the keys. Call it where the rows are fetched, in the query that an `Observed` follows, rather
  /// than each time a view is drawn.
  /// - Parameter key: returns the value that the rows of a section share.
  /// - Returns: the sections; none of them is empty.
  public func sections<Key: Hashable>(by key: (Element) throws -> Key) rethrows -> [RowSection<Key, Element>] {
    var places: [Key: Int] = [:]
    var sections: [(id: Key, rows: [Element])] = []
    for row in self {
      let id = try key(row)
      if let place = places[id] {
        sections[place].rows.append(row)
      } else {
        places[id] = sections.count
        sections.append((id, [row]))
      }
    }
    return sections.map { RowSection(id: $0.id, rows: $0.rows) }
  }
}
