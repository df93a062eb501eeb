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
  /// Names the records that somebody lacks who has seen `base`, or has in an older state. Cost: the entries of the
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
      let query = try SQLStatement(
        connection.handle,
        """
        SELECT n, replica, sequence, items FROM tally_log WHERE zone = 0 AND replica = \(number) AND sequence > ?
        ORDER BY sequence, n
        """)
      // Since the page before, somebody may have got what it has named.
      query.bind(1, Int64(max(start.map { $0.dot.sequence - 1 } ?? 0, base[entry.replica])))
      /// Looks at one row of the log. Returns false at the end of the page.
      func look(_ row: LogEntry) throws -> Bool {
        let place = Dot(replica: entry.replica, sequence: try row.sequence)
        let number = Int64(row.number)
        let isStart = place == start?.dot
        if isStart, number < start?.row ?? 0 { return true }
        let skipped = isStart && number == start?.row ? start?.done ?? 0 : 0
        var items: [(item: ChangeLog.Item, dot: Dot)] = []
        for part in row.parts {
          let dot = Dot(replica: entry.replica, sequence: try part.sequence)
          items += try ChangeLog.items(part.items, catalog).map { ($0, dot) }
        }
        for (index, (item, dot)) in items.enumerated().dropFirst(skipped) where !base.covers(dot) {
          let spot = TouchedNames.Place(dot: place, row: number, done: index)
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
      let least = max(start.map { $0.dot.sequence - 1 } ?? 0, base[entry.replica])
      var newest = try newestEntries(of: number, beyond: least)[...]
      while try query.step() {
        let row = LogEntry(query)
        while let next = newest.first, next.sequence < (try row.sequence) {
          newest.removeFirst()
          guard try look(LogEntry(next)) else { return result }
        }
        guard try look(row) else { return result }
      }
      for next in newest { guard try look(LogEntry(next)) else { return result } }
    }
    return result
  }

  /// Entries of one replica that are not in the table of the log yet, in the order in which its rows are read.
  private func newestEntries(of replica: ReplicaNumber, beyond sequence: UInt64) throws -> [LogTail.Entry] {
    try tail().entries.filter { $0.replica == replica && $0.sequence > sequence }
      .sorted { ($0.sequence, $0.number) < ($1.sequence, $1.number) }
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
