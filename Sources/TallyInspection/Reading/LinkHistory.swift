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
}

extension Store {
  /// The links of a record in its own relationships, seen or hidden, as many as `limit` of each relationship.
  package func links(of name: AnyRecordName, limit: Int) throws -> [LinkHistory] {
    try snapshot { try $0.links(of: name, limit: limit) }
  }
}

extension StateReader {
  func links(of name: AnyRecordName, limit: Int) throws -> [LinkHistory] {
    var result: [LinkHistory] = []
    for kind in catalog.links.values.sorted(by: { $0.number < $1.number }) where kind.source == name.type {
      var count = 0
      func add(_ key: LinkKey, _ element: ORSetElement, isVisible: Bool) {
        count += 1
        result.append(
          LinkHistory(
            relationship: kind.relationship, target: key.target, isVisible: isVisible, tags: element.tags))
      }
      if kind.isKnown {
        let query = try SQLStatement(connection.handle, kind.rowsFrom.text)
        query.bind(1, name.text)
        while count < limit, try query.step() {
          if let key = try key(in: query) { add(key, try link(in: query).element, isVisible: true) }
        }
      }
      let query = try SQLStatement(
        connection.handle,
        "SELECT key, body FROM tally_hidden WHERE kind = \(kind.number) AND key > ? AND key < ? ORDER BY key")
      query.bind(1, name.text + "\n")
      query.bind(2, name.text + "\u{0B}")
      while count < limit, try query.step() {
        let element = try linkElement(inBody: 1, of: query)
        add(try LinkKey(query.text(0) ?? ""), element, isVisible: false)
      }
    }
    return result
  }
}
