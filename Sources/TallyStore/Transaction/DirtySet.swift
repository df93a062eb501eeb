import TallyCRDT

/// The parts of the view to check before a transaction ends.
struct DirtySet {
  /// The effects that a changed state can have above it.
  enum Reach: Hashable {
    /// There is one touch more, and nothing less: a visible owner stays as it is, and so does all above it.
    case revivesOnly
    /// There may be less below it, and what owns what is as before.
    case sameEdges
    /// Anything.
    case anything
  }

  private(set) var records: [AnyRecordName] = []
  private(set) var links: [(kind: KindNumber, key: LinkKey)] = []
  /// Records whose ancestors must be looked at. They are climbed once all states are in: before, a row may be newer
  /// than its state.
  private(set) var climbs: [(name: AnyRecordName, reach: Reach)] = []
  private var seenRecords = Set<AnyRecordName>()
  private var seenLinks = Set<LinkAddress>()
  private var seenClimbs: [Reach: Set<AnyRecordName>] = [:]

  private struct LinkAddress: Hashable {
    var kind: KindNumber
    var key: LinkKey
  }

  mutating func insert(_ name: AnyRecordName) {
    if seenRecords.insert(name).inserted { records.append(name) }
  }

  mutating func insert(_ kind: KindNumber, _ key: LinkKey) {
    if seenLinks.insert(LinkAddress(kind: kind, key: key)).inserted { links.append((kind, key)) }
  }

  mutating func climb(from names: some Sequence<AnyRecordName>, _ reach: Reach = .anything) {
    for name in names where seenClimbs[.anything]?.contains(name) != true {
      if seenClimbs[reach, default: []].insert(name).inserted { climbs.append((name, reach)) }
    }
  }

  /// Removes and returns a record; nil if there is none. It may be marked again: its state can change once more before
  /// the transaction ends.
  mutating func popRecord() -> AnyRecordName? {
    guard let name = records.popLast() else { return nil }
    seenRecords.remove(name)
    return name
  }

  mutating func popLink() -> (kind: KindNumber, key: LinkKey)? {
    guard let link = links.popLast() else { return nil }
    seenLinks.remove(LinkAddress(kind: link.kind, key: link.key))
    return link
  }

  mutating func popClimb() -> (name: AnyRecordName, reach: Reach)? { climbs.popLast() }

  /// All climbs are done. What changes from now on must be climbed from again.
  mutating func endClimbs() { if climbs.isEmpty { seenClimbs = [:] } }

  var isEmpty: Bool { records.isEmpty && links.isEmpty && climbs.isEmpty }
}
