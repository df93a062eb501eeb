import TallyCRDT
import TallyStore

/// Records that transactions beyond a vector have changed, a page at a time.
package struct TouchedNames: Sendable {
  /// The place from which to go on: a transaction, one of its entries in the log, and an item of that.
  package struct Place: Sendable, Hashable {
    /// The transaction that is next.
    package var dot: Dot
    /// The entry of the log that is next: one transaction may have several.
    package var row: Int64
    /// The items of the entry that are done. Where the log was swept since, there may be fewer: then the entry is read
    /// from its beginning.
    package var done: Int
    /// The items of the entry.
    package var count: Int

    /// A place in the log.
    package init(dot: Dot, row: Int64, done: Int, count: Int) {
      (self.dot, self.row, self.done, self.count) = (dot, row, done, count)
    }
  }

  /// The names; of a changed link the end whose relationship it is. Each is on one page, but for a record with more
  /// than `linkLimit` links in one relationship, or whose last change by a replica another one has overwritten: that
  /// may be on several.
  package var names: [AnyRecordName] = []
  /// Of each of the names the place from which to go on to begin with it.
  package var places: [Place] = []
  /// Where to go on; nil at the end.
  package var next: Place?

  /// The most links of one relationship that are looked at to see whether a record was named before.
  package static let linkLimit = 1_000
}

extension Store {
  /// Names the records that a store which has seen `base` lacks, or has in an older state. Cost: the entries of the
  /// change log that are read, a look-up for each item, and nothing of what `base` covers.
  /// - Parameters:
  ///   - base: what was seen.
  ///   - place: where a page has ended; nil begins.
  ///   - limit: the most names of a page.
  ///   - isOver: ends the page, with or without names. Each page gets on by one item at least.
  /// - Returns: a page of names.
  /// - Throws: what reading the store throws.
  package func names(
    beyond base: StateVector, from place: TouchedNames.Place? = nil, limit: Int, until isOver: () -> Bool = { false }
  ) throws -> TouchedNames {
    try capturedSnapshot { try $0.names(beyond: base, from: place, limit, until: isOver) }
  }
}

extension StateReader {
  fileprivate func names(
    beyond base: StateVector, from place: TouchedNames.Place?, _ limit: Int, until isOver: () -> Bool
  ) throws -> TouchedNames {
    let vector = try vector()
    var (result, finder) = (TouchedNames(), TouchFinder(self, base, vector))
    var (seen, hasLooked) = (Set<AnyRecordName>(), false)
    for entry in vector.entries where entry.sequence > base[entry.replica] {
      if let place, entry.replica < place.dot.replica { continue }
      guard let number = catalog.replicaNumbers[entry.replica] else { continue }
      let start = place.flatMap { $0.dot.replica == entry.replica ? $0 : nil }
      // Since the page before, the other store may have got what it has named.
      let least = max(start.map { $0.dot.sequence - 1 } ?? 0, base[entry.replica])
      var small = try smallEntries(of: number, beyond: least)[...]
      let query = try SQLStatement(
        connection.handle,
        """
        SELECT \(LogRow.columns) FROM tally_log
        WHERE zone = 0 AND replica = \(number) AND sequence > ? AND length(items) > \(Self.mostSmallBytes)
        ORDER BY sequence, n
        """)
      query.bind(1, Int64(least))
      /// Looks at one entry of the log. Returns false at the end of the page.
      func look(_ logged: LogEntry) throws -> Bool {
        let (dot, row) = (Dot(replica: entry.replica, sequence: logged.sequence), Int64(logged.number))
        let isStart = dot == start?.dot
        if isStart, row < start?.row ?? 0 { return true }
        let items = try ChangeLog.items(logged.items, catalog)
        let skipped = if let start, isStart, row == start.row, items.count == start.count { start.done } else { 0 }
        for (index, item) in items.enumerated().dropFirst(skipped) {
          let spot = TouchedNames.Place(dot: dot, row: row, done: index, count: items.count)
          if result.names.count == limit || hasLooked && isOver() {
            result.next = spot
            return false
          }
          hasLooked = true
          guard item.name.type != SeedHistory.setType, try finder.isFirst(item, dot), seen.insert(item.name).inserted
          else { continue }
          result.names.append(item.name)
          result.places.append(spot)
        }
        return true
      }
      while try query.step() {
        for large in try LogRow(query).entries() {
          while let next = small.first, next.sequence < large.sequence {
            small.removeFirst()
            guard try look(next) else { return result }
          }
          guard try look(large) else { return result }
        }
      }
      for next in small { guard try look(next) else { return result } }
    }
    return result
  }

  /// Longer rows are of one transaction alone.
  private static let mostSmallBytes = 2 * LogRow.mostBytes

  /// Entries of one replica in rows of several and in the tail, in the order of their sequences.
  private func smallEntries(of replica: ReplicaNumber, beyond sequence: UInt64) throws -> [LogEntry] {
    let rows = try SQLStatement(
      connection.handle,
      """
      SELECT \(LogRow.columns) FROM tally_log
      WHERE zone = 0 AND replica = \(replica) AND sequence > ? AND length(items) <= \(Self.mostSmallBytes)
      """)
    rows.bind(1, Int64(sequence))
    var entries: [LogEntry] = []
    while try rows.step() { entries += try LogRow(rows).entries() }
    for entry in try tail().entries where entry.replica == replica { entries.append(LogEntry(entry)) }
    return entries.filter { $0.sequence > sequence }.sorted { ($0.sequence, $0.number) < ($1.sequence, $1.number) }
  }
}

/// Says of an item of the log whether it leads to its record, of which several items may be listed, by several
/// replicas.
///
/// A page knows nothing of those before it, so the answer comes from the record's state: of the record and its links
/// the item that was first changed beyond the vector, and of its entries those of its first replica, from its last
/// change on. Earlier entries have been overwritten by that.
private struct TouchFinder {
  /// The order of the items of one record.
  private struct Spot: Comparable {
    /// The last transaction of a replica that has changed the item.
    var dot: Dot
    /// Of a link; both are empty for the record itself.
    var relationship = "", target = ""

    static func < (one: Spot, other: Spot) -> Bool {
      (one.dot, one.relationship, one.target) < (other.dot, other.relationship, other.target)
    }
  }

  private let reader: StateReader
  private let base: StateVector
  private let vector: StateVector
  /// The spot that leads to a record.
  private var known: [AnyRecordName: Spot?] = [:]

  init(_ reader: StateReader, _ base: StateVector, _ vector: StateVector) {
    (self.reader, self.base, self.vector) = (reader, base, vector)
  }

  mutating func isFirst(_ item: ChangeLog.Item, _ dot: Dot) throws -> Bool {
    let found = try known[item.name] ?? look(item.name)
    known[item.name] = .some(found)
    guard let found, dot.replica == found.dot.replica, dot.sequence >= found.dot.sequence else { return false }
    let relationship = item.target == nil ? "" : reader.catalog.links[item.kind]?.relationship
    return relationship == found.relationship && (item.target?.text ?? "") == found.target
  }

  private func look(_ name: AnyRecordName) throws -> Spot? {
    var first: Spot?
    func consider(_ dots: Set<Dot>, relationship: String = "", target: String = "") {
      // Default data has dots that no log lists and no vector covers.
      let beyond = StateVector(dots.filter { !base.covers($0) && vector.covers($0) }.map { ($0.replica, $0.sequence) })
      for dot in beyond.entries {
        let spot = Spot(dot: dot, relationship: relationship, target: target)
        if first.map({ spot < $0 }) ?? true { first = spot }
      }
    }
    for kind in reader.catalog.records.values where kind.type == name.type {
      if let state = try reader.record(name, kind)?.state { consider(try reader.listedDots(state)) }
    }
    for link in try reader.links(of: name, limit: TouchedNames.linkLimit) {
      let dots = (link.tags.flatMap { [$0.added.dot, $0.removed?.dot] } + [link.place?.stamp.dot]).compactMap { $0 }
      consider(Set(dots), relationship: link.relationship, target: link.target.text)
    }
    return first
  }
}
