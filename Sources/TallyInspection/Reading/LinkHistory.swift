import TallyCRDT
import TallyStore

/// A record's link to another: who added it, and who removed it.
package struct LinkHistory: Sendable, Equatable {
  /// The name of the relationship.
  package var relationship: String
  /// The other end.
  package var target: AnyRecordName
  /// Whether the app sees the link.
  package var isVisible: Bool
  /// The adds, and the removal of each.
  package var tags: [ORSetElement.Tag]
  /// Where it stands in an ordered relationship, and who put it there.
  package var place: ORSetElement.Place?
}

extension Store {
  /// The links of a record in its own relationships, seen or hidden, as many as `limit` of each relationship; those of
  /// an ordered one that are seen in their order.
  package func links(of name: AnyRecordName, limit: Int) throws -> [LinkHistory] {
    try snapshot { try $0.links(of: name, limit: limit) }
  }
}

extension StateReader {
  func links(of name: AnyRecordName, limit: Int) throws -> [LinkHistory] {
    var result: [LinkHistory] = []
    for kind in catalog.links.values.sorted(by: { $0.number < $1.number }) where kind.source == name.type {
      var count = 0
      func add(_ target: AnyRecordName, _ element: ORSetElement, isVisible: Bool) {
        count += 1
        result.append(
          LinkHistory(
            relationship: kind.relationship, target: target, isVisible: isVisible, tags: element.tags,
            place: element.place))
      }
      if kind.isKnown {
        let order = kind.isOrdered ? " ORDER BY position, target" : ""
        let query = try SQLStatement(connection.handle, kind.rowsFrom.text + order)
        query.bind(1, name.text)
        while count < limit, try query.step() {
          if let key = try key(in: query) { add(key.target, try link(in: query, kind).element, isVisible: true) }
        }
      }
      for (target, element) in try hiddenLinks(from: name, kind, limit: limit - count) {
        add(target, element, isVisible: false)
      }
    }
    return result
  }
}
