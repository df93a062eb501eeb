import GRDB
import TallyCRDT

/// A member of a duplicate, or a duplicate as a member, that its seed does not have: it came while the duplicate gave
/// way elsewhere, or a person edited the record at its other end, which therefore stayed.
struct LateMember: Hashable {
  var kind: KindNumber
  var key: LinkKey
}

extension LinkKey {
  /// The link between what both ends have become.
  func moved(_ name: (AnyRecordName) throws -> AnyRecordName) rethrows -> LinkKey {
    LinkKey(source: try name(source), target: try name(target))
  }
}

/// Members of duplicates become members of their seeds, and what had the duplicate as a member has the seed.
extension WriteTransaction {
  /// Copies the memberships of a duplicate to its seed. `moved` gives the seed of any record that gives way now, since
  /// both ends may.
  func copyMemberships(
    of duplicate: StateReader.Duplicate, _ stamp: Stamp, moved: (AnyRecordName) -> AnyRecordName
  ) throws {
    for kind in catalog.knownLinks where kind.source == duplicate.name.type || kind.target == duplicate.name.type {
      let query = try SQLStatement(connection, kind.rowSQL + " WHERE source = ?1 OR target = ?1")
      query.bind(1, duplicate.name.text)
      var keys: [LinkKey] = []
      while try query.step() { if let key = try reader.key(in: query) { keys.append(key) } }
      var places: [LinkKey: ListPosition] = [:]
      if kind.isOrdered { for key in keys { places[key] = try reader.link(key, kind)?.element.place?.position } }
      // In the order of the list that they come from.
      keys.sort { one, other in
        let (first, second) = (places[one]?.bytes ?? [], places[other]?.bytes ?? [])
        return first == second ? one.text < other.text : first.lexicographicallyPrecedes(second)
      }
      for key in keys {
        let copy = key.moved(moved)
        try copyMember(key, to: copy, kind, stamp, at: key.source == copy.source ? places[key] : nil)
      }
    }
  }

  /// Copies a member to its seed. What a user took out of the seed stays out, and two duplicates of one seed do not
  /// make it a member of itself.
  func copyMember(
    _ key: LinkKey, to copy: LinkKey, _ kind: LinkKind, _ stamp: Stamp, at position: ListPosition? = nil
  ) throws {
    let stored = try reader.link(copy, kind)
    guard stored?.place.isVisible != true, copy.source != copy.target || key.source == key.target else { return }
    let old = stored?.element ?? ORSetElement()
    guard !old.isRefused else { return }
    var element = old
    element.add(stamp)
    guard element != old else { return }
    // The seed's members have their places; who comes from elsewhere goes behind them. In the same list the one that
    // stays takes the place of the one that gave way.
    if kind.isOrdered, element.place == nil, let position {
      element.move(stamp, to: position)
    } else if kind.isOrdered, element.place == nil {
      let last = try kind.lastPosition(of: copy.source, reader)
      do throws(ListPositionError) {
        element.move(stamp, to: try session.applying.lists.between(last, nil))
      } catch {
        // There is no room behind the last: a member without a place stands first.
      }
    }
    try writer.put(copy, kind, element, previous: stored, isShown: false)
    view.mark(kind.number, copy)
    try changed(copy, kind, from: old, to: element, dots: CollectionOfOne(stamp.dot))
  }
}

extension LinkKind {
  /// The last position in a record's list, members that do not show yet included; nil if it has none.
  fileprivate func lastPosition(of source: AnyRecordName, _ reader: StateReader) throws -> ListPosition? {
    let query = try reader.connection.statement(text: "SELECT max(position) FROM main.\"\(table)\" WHERE source = ?")
    query.bind(1, source.text)
    defer { query.reset() }
    let shown = try query.step() ? ListPosition(bytes: query.blob(0)) : nil
    let hidden = try reader.hiddenLinks(from: source, self).filter { $0.link.element.mayBeMember }
      .compactMap { $0.link.element.place?.position }
    return ([shown].compactMap { $0 } + hidden).max()
  }
}

extension StateReader {
  /// The links to and from duplicates that gave way, as far as the seeds have not got them. What anybody has taken out
  /// of a seed stays out; what stays after a merge is a person's, so of it only what was taken out since.
  ///
  /// Cost: the hidden records of the type, if any of them gave way.
  func lateMembers(_ type: String, ofMerged: Bool = false) throws -> Set<LateMember> {
    guard let kind = catalog.kind(of: type), kind.isKnown, kind.forwardField != nil else { return [] }
    var found = Set<LateMember>()
    try forEachHiddenRecord(kind.number) { name, stored in
      guard try forward(of: name, stored.state) != nil else { return }
      for (links, key, link) in try hiddenLinks(of: name) where link.element.mayBeMember {
        let moved = try key.moved { try successor(of: $0) ?? $0 }
        guard moved != key, moved.source != moved.target else { continue }
        let known = try self.link(moved, links)?.element ?? ORSetElement()
        // What anybody removed since stays out.
        let isLate =
          known.tags.allSatisfy { tag in
            tag.removed.map { ofMerged && stored.state.adoptedContext.covers($0.dot) } ?? true
          } && link.element.hasMember(beyond: stored.state.adoptedContext)
        guard isLate || known.tags.isEmpty, try !isMember(moved, known) else { continue }
        found.insert(LateMember(kind: links.number, key: key))
      }
    }
    return found
  }
}

extension ORSetElement {
  fileprivate func hasMember(beyond context: StateVector) -> Bool {
    tags.contains { $0.removed == nil && $0.added.rank > .seed && !context.covers($0.added.dot) }
  }
}
