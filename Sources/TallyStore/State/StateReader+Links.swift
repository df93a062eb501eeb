import TallyCRDT

/// A link as stored.
package struct StoredLink {
  package var element: ORSetElement
  var place: Place
  /// The checksum that is stored with the element.
  var sum: StateSum
  /// The position that the row of an ordered relationship shows; nil for none.
  var shown: ListPosition?

  package var isVisible: Bool { place.isVisible }
}

/// Links that the app sees, and those that it does not.
extension StateReader {
  /// A link by its ends; nil if nothing is known of it.
  package func link(_ key: LinkKey, _ kind: LinkKind) throws -> StoredLink? {
    if kind.isKnown {
      let query = try connection.statement(kind.row)
      query.bind(1, key.source.text)
      query.bind(2, key.target.text)
      defer { query.reset() }
      if try query.step() {
        guard query.hasText(1, key.source.text), query.hasText(2, key.target.text) else {
          throw StoreError(.corrupt, StoreError.wrongIndex)
        }
        return try link(in: query, kind)
      }
    }
    return try link(hidden: key, kind)
  }

  /// Whether the app sees the link.
  func hasRow(_ key: LinkKey, _ kind: LinkKind) throws -> Bool {
    guard kind.isKnown else { return false }
    let query = try connection.statement(kind.row)
    query.bind(1, key.source.text)
    query.bind(2, key.target.text)
    defer { query.reset() }
    return try query.step()
  }

  /// The link in the current row of a query for links.
  package func link(in query: SQLStatement, _ kind: LinkKind) throws -> StoredLink {
    let clock = try query.clock(3)
    let shown = kind.isOrdered ? ListPosition(bytes: query.blob(4)) : nil
    let (element, sum) = try self.element(clock, shown: shown)
    return StoredLink(element: element, place: .row(id: query.number(0), clock: clock), sum: sum, shown: shown)
  }

  /// The element that a clock stands for, with the position that its row shows, and the checksum that is stored with
  /// it.
  func element(_ clock: InlineClock, shown: ListPosition?) throws -> (element: ORSetElement, sum: StateSum) {
    switch clock {
    case .unstamped, .leaving: return (ORSetElement(), StateSum())
    case .uniform(let uniform):
      guard let stamp = try stamp(clock) else { return (ORSetElement(), StateSum()) }
      var element = ORSetElement(added: stamp)
      if let shown { element.place = ORSetElement.Place(stamp: stamp, position: shown) }
      return (element, uniform.sum)
    case .extra(let place): return try extra(place.number) { try StateCoding.decodeLink($0, self, shown: shown) }
    }
  }

  /// The links whose source is `source`, hidden and, unless told otherwise, seen.
  func links(
    from source: AnyRecordName, seesRows: Bool = true
  ) throws -> [(kind: LinkKind, key: LinkKey, link: StoredLink)] {
    var result: [(LinkKind, LinkKey, StoredLink)] = []
    for kind in catalog.links.values.sorted(by: { $0.number < $1.number }) where kind.source == source.type {
      if kind.isKnown, seesRows {
        let query = try connection.statement(kind.rowsFrom)
        query.bind(1, source.text)
        while try query.step() {
          if let key = try key(in: query) { result.append((kind, key, try link(in: query, kind))) }
        }
      }
      result += try hiddenLinks(from: source, kind).map { (kind, $0.key, $0.link) }
    }
    return result
  }

  /// The ends of the link in the current row of a query for links; nil for a row of another program's that links no
  /// record names and so was never captured.
  package func key(in query: SQLStatement) throws -> LinkKey? {
    do {
      return try LinkKey("\(query.text(1) ?? "")\n\(query.text(2) ?? "")")
    } catch {
      if try query.clock(3) == .unstamped { return nil }
      throw error
    }
  }
}
