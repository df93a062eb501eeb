/// Rows that belong together in a list, under the value that they share.
///
/// ```swift
/// let games = try Game.order(Column("name")).fetchAll(db)
/// for section in games.sections(by: { $0.name?.first }) { print(section.id ?? "–", section.rows.count) }
/// ```
///
/// `sections(by:)` makes them. A `List` of SwiftUI shows them with a `ForEach` over the sections and one over the rows
/// of each.
public struct RowSection<Key: Hashable, Row>: Identifiable {
  /// The value that the rows share.
  public let id: Key
  /// The rows, in the order that the list had them in.
  public let rows: [Row]
}

extension RowSection: Sendable where Key: Sendable, Row: Sendable {}
extension RowSection: Equatable where Row: Equatable {}

extension Sequence {
  /// The same rows in sections: those with an equal key stand together, wherever they are in the list.
  ///
  /// ```swift
  /// let byLetter = try Game.order(Column("name")).fetchAll(db).sections { $0.name?.first }
  /// ```
  ///
  /// The sections come in the order of their first rows, so the query says how they are sorted. One pass, with a
  /// dictionary of the keys: make it where the rows are fetched, in the query that an `Observed` follows, rather than
  /// each time that a view is drawn.
  /// - Parameter key: what the rows of a section share.
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
