import TallyCRDT
import TallyWire

/// `tally_cut`: the states of links that have no row. Each is keyed by its two ends, and an index has them by the
/// second, so what a record that appears has to look at is found there, and hidden links wait for nothing.
extension StateReader {
  /// A hidden link by its ends.
  func link(hidden key: LinkKey, _ kind: LinkKind) throws -> StoredLink? {
    let query = try connection.statement("SELECT body FROM tally_cut WHERE kind = ? AND source = ? AND target = ?")
    defer { query.reset() }
    query.bind(1, kind.number)
    query.bind(2, key)
    guard try query.step() else { return nil }
    return try query.withBlob(0) { try hiddenLink($0) }
  }

  /// The hidden link of a body.
  package func hiddenLink(_ body: UnsafeRawBufferPointer) throws -> StoredLink {
    let (element, sum) = try StateCoding.decodeLink(body, self)
    return StoredLink(element: element, place: .cut, sum: sum)
  }

  /// Whether a link is hidden.
  func isHidden(_ key: LinkKey, _ kind: KindNumber) throws -> Bool {
    let query = try connection.statement("SELECT 1 FROM tally_cut WHERE kind = ? AND source = ? AND target = ?")
    defer { query.reset() }
    query.bind(1, kind)
    query.bind(2, key)
    return try query.step()
  }

  /// Each hidden link of a kind.
  func forEachHiddenLink(_ kind: LinkKind, _ body: (LinkKey, StoredLink) throws -> Void) throws {
    let query = try connection.loop(
      "SELECT source, target, body FROM tally_cut WHERE kind = ? ORDER BY source, target")
    query.bind(1, kind.number)
    defer { query.reset() }
    while try query.step() {
      guard let key = query.linkKey(0, kind) else { throw StoreError(.corrupt, LinkKind.malformedKey) }
      try body(key, try query.withBlob(2) { try hiddenLink($0) })
    }
  }

  /// The hidden links of a kind whose source is `source`.
  func hiddenLinks(from source: AnyRecordName, _ kind: LinkKind) throws -> [(key: LinkKey, link: StoredLink)] {
    let query = try connection.statement("SELECT target, body FROM tally_cut WHERE kind = ? AND source = ?")
    defer { query.reset() }
    query.bind(1, kind.number)
    query.bind(2, key: RecordKey(source))
    var result: [(LinkKey, StoredLink)] = []
    while try query.step() {
      guard let target = query.name(0, kind.target) else { throw StoreError(.corrupt, LinkKind.malformedKey) }
      result.append((LinkKey(source: source, target: target), try query.withBlob(1) { try hiddenLink($0) }))
    }
    return result
  }

  /// The hidden links of a kind whose target is `target`.
  func hiddenLinks(to target: AnyRecordName, _ kind: LinkKind) throws -> [(key: LinkKey, link: StoredLink)] {
    let query = try connection.statement("SELECT source FROM tally_cut WHERE kind = ? AND target = ?")
    defer { query.reset() }
    query.bind(1, kind.number)
    query.bind(2, key: RecordKey(target))
    var keys: [LinkKey] = []
    while try query.step() {
      guard let source = query.name(0, kind.source) else { throw StoreError(.corrupt, LinkKind.malformedKey) }
      keys.append(LinkKey(source: source, target: target))
    }
    // By its ends: what only the index has is no link.
    return try keys.compactMap { key in try link(hidden: key, kind).map { (key, $0) } }
  }

  /// The hidden links from and to a record, one from it to itself once.
  func hiddenLinks(of name: AnyRecordName) throws -> [(kind: LinkKind, key: LinkKey, link: StoredLink)] {
    var result = try links(from: name, seesRows: false)
    for kind in catalog.links.values.sorted(by: { $0.number < $1.number }) where kind.target == name.type {
      result += try hiddenLinks(to: name, kind).filter { $0.key.source != name }.map { (kind, $0.key, $0.link) }
    }
    return result
  }
}

/// Hidden links for `TallyInspection`.
extension StateReader {
  /// The hidden links of a kind whose source is `source`, at most `limit`.
  package func hiddenLinks(
    from source: AnyRecordName, _ kind: LinkKind, limit: Int
  ) throws -> [(target: AnyRecordName, element: ORSetElement)] {
    let query = try SQLStatement(
      connection,
      "SELECT target, body FROM tally_cut WHERE kind = ? AND source = ? ORDER BY target LIMIT ?")
    query.bind(1, kind.number)
    query.bind(2, key: RecordKey(source))
    query.bind(3, limit)
    var result: [(AnyRecordName, ORSetElement)] = []
    while try query.step() {
      guard let target = query.name(0, kind.target) else { throw StoreError(.corrupt, LinkKind.malformedKey) }
      result.append((target, try query.withBlob(1) { try hiddenLink($0).element }))
    }
    return result
  }
}

extension LinkKind {
  /// The message about a key in `tally_cut` that cannot be read.
  package static let malformedKey = "a hidden link's key is malformed"
}

extension SQLStatement {
  /// Binds the keys of a link's ends, the source's to `index`, the target's to the next.
  func bind(_ index: Int, _ key: LinkKey) {
    bind(index, key: RecordKey(key.source))
    bind(index + 1, key: RecordKey(key.target))
  }

  /// The ends that the keys in two columns give, with the types of the link's kind; nil if one holds no key.
  package func linkKey(_ column: Int, _ kind: LinkKind) -> LinkKey? {
    guard let source = name(column, kind.source), let target = name(column + 1, kind.target) else { return nil }
    return LinkKey(source: source, target: target)
  }
}
