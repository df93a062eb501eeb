import TallyCRDT
import TallyStore

/// Records that transactions beyond a vector have changed, a page at a time.
package struct TouchedNames: Sendable {
  /// The place from which to go on: a transaction, one of its rows in the log, and how many items of that are done.
  package struct Place: Sendable, Hashable {
    /// The transaction that is next.
    package var dot: Dot
    /// The row of the log that is next: one transaction may have several.
    package var row: Int64
    /// The items of the row that are done.
    package var done: Int

    /// A place in the log.
    package init(dot: Dot, row: Int64, done: Int) { (self.dot, self.row, self.done) = (dot, row, done) }
  }

  /// The names; of a changed link the end whose relationship it is. Each is on one page alone: where the log lists the
  /// record for the first time. Of a record with more than `linkLimit` links in one relationship that is not certain.
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
        SELECT n, replica, sequence, items FROM tally_log
        WHERE zone = 0 AND replica = \(number) AND sequence > ? AND NOT (\(LogEntry.isPack)) ORDER BY sequence, n
        """)
      query.bind(1, Int64(least))
      /// Looks at one entry of the log. Returns false at the end of the page.
      func look(_ logged: LogEntry) throws -> Bool {
        let (dot, row) = (Dot(replica: entry.replica, sequence: try logged.sequence), Int64(logged.number))
        let isStart = dot == start?.dot
        if isStart, row < start?.row ?? 0 { return true }
        let skipped = isStart && row == start?.row ? start?.done ?? 0 : 0
        let items = try ChangeLog.items(logged.items, catalog)
        for (index, item) in items.enumerated().dropFirst(skipped) {
          let spot = TouchedNames.Place(dot: dot, row: row, done: index)
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
        let row = LogEntry(query)
        while let next = small.first, try next.sequence < row.sequence {
          small.removeFirst()
          guard try look(next) else { return result }
        }
        guard try look(row) else { return result }
      }
      for next in small { guard try look(next) else { return result } }
    }
    return result
  }

  /// Entries of one replica in packs and in the tail, in the order in which rows of the log are read.
  private func smallEntries(of replica: ReplicaNumber, beyond sequence: UInt64) throws -> [LogEntry] {
    let packs = try SQLStatement(
      connection.handle,
      """
      SELECT n, replica, sequence, items FROM tally_log
      WHERE zone = 0 AND replica = \(replica) AND sequence > ? AND \(LogEntry.isPack)
      """)
    packs.bind(1, Int64(sequence))
    var entries: [(sequence: UInt64, entry: LogEntry)] = []
    while try packs.step() {
      for entry in LogEntry(packs).parts { entries.append((try entry.sequence, entry)) }
    }
    for entry in try tail().entries where entry.replica == replica {
      entries.append((entry.sequence, LogEntry(entry)))
    }
    return entries.filter { $0.sequence > sequence }
      .sorted { ($0.sequence, $0.entry.number) < ($1.sequence, $1.entry.number) }.map(\.entry)
  }
}

/// Says of an item of the log whether it is the first that leads to its record.
///
/// A page knows nothing of those before it, so the answer comes from the record's state: of the transactions beyond the
/// vector that have a cell of the record or of one of its links it is the first, in the order in which they are read.
private struct TouchFinder {
  /// The order of the items of one record.
  private struct Spot: Comparable {
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
  /// The transactions under which the log must list a record, and the first spot that leads to it or its links.
  private var known: [AnyRecordName: (dots: Set<Dot>, first: Spot?)] = [:]

  init(_ reader: StateReader, _ base: StateVector, _ vector: StateVector) {
    (self.reader, self.base, self.vector) = (reader, base, vector)
  }

  mutating func isFirst(_ item: ChangeLog.Item, _ dot: Dot) throws -> Bool {
    let found = try known[item.name] ?? look(item.name)
    known[item.name] = found
    var spot = Spot(dot: dot)
    // What was overwritten since leads to nothing, or to what has overwritten it.
    if let target = item.target {
      guard let kind = reader.catalog.links[item.kind] else { return false }
      (spot.relationship, spot.target) = (kind.relationship, target.text)
      let element = try reader.link(LinkKey(source: item.name, target: target), kind)?.element
      guard element?.dots.contains(dot) ?? false else { return false }
    } else {
      guard found.dots.contains(dot) else { return false }
    }
    return found.first.map { $0 >= spot } ?? true
  }

  private func look(_ name: AnyRecordName) throws -> (dots: Set<Dot>, first: Spot?) {
    var (dots, first) = (Set<Dot>(), Spot?.none)
    func consider(_ spot: Spot) {
      // Default data has dots that no log lists and no vector covers.
      guard !base.covers(spot.dot), vector.covers(spot.dot) else { return }
      if first.map({ spot < $0 }) ?? true { first = spot }
    }
    for kind in reader.catalog.records.values where kind.type == name.type {
      dots.formUnion(try reader.record(name, kind)?.state.listedDots ?? [])
    }
    for dot in dots { consider(Spot(dot: dot)) }
    for link in try reader.links(of: name, limit: TouchedNames.linkLimit) {
      for dot in link.tags.flatMap({ [$0.added.dot, $0.removed?.dot] }).compactMap({ $0 }) {
        consider(Spot(dot: dot, relationship: link.relationship, target: link.target.text))
      }
    }
    return (dots, first)
  }
}
