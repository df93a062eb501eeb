import TallyCRDT

/// Bodies in `tally_extra` that more than one row points to. A number whose body is gone is given out again, and the
/// disk may change the number in a clock. Then two rows have one state, and what is written to the one is written to
/// the other.
struct SharedBodies {
  /// A row of a record or link.
  struct Row {
    var kind: KindNumber
    var key: String

    /// Its name, or the two that it links.
    var label: String { printable(key.replacing("\n", with: " with ")) }
  }

  /// The rows that point to a body that is not theirs. The change log says whose it is: of a body that it knows for no
  /// row, or for several, all of them are strangers.
  private(set) var strangers: [Row] = []

  /// Cost: reads the clock of each row.
  init(_ reader: StateReader) throws {
    let shared = try Self.shared(reader)
    guard !shared.isEmpty else { return }
    var rows: [Int: [(row: Row, isListed: Bool)]] = [:]
    func add(_ kind: KindNumber, _ key: String?, _ number: Int?, _ dots: () throws -> Set<Dot>) throws {
      guard let key, let number, shared.contains(number) else { return }
      let row = Row(kind: kind, key: key)
      rows[number, default: []].append((row, try Self.isListed(row, reader, dots)))
    }
    for kind in reader.catalog.orderedKinds {
      try reader.forEachRow(kind) { query in
        let number = (try? query.clock(2))?.extra?.number
        try add(kind.number, query.text(1), number) { try reader.record(in: query, kind).state.listedDots }
      }
    }
    for kind in reader.catalog.knownLinks {
      let query = try SQLStatement(reader.connection, kind.rowSQL)
      while try query.step() {
        let key = query.text(1).flatMap { source in query.text(2).map { "\(source)\n\($0)" } }
        let number = (try? query.clock(3))?.extra?.number
        try add(kind.number, key, number) { try reader.link(in: query).element.dots }
      }
    }
    for number in rows.keys.sorted() {
      let all = rows[number] ?? []
      let hasOwner = all.count { $0.isListed } == 1
      strangers += all.filter { !hasOwner || !$0.isListed }.map(\.row)
    }
  }

  private static func shared(_ reader: StateReader) throws -> Set<Int> {
    var (seen, shared) = (Set<Int>(), Set<Int>())
    for table in reader.catalog.orderedKinds.map(\.type) + reader.catalog.knownLinks.map(\.table) {
      let query = try SQLStatement(
        reader.connection,
        "SELECT tally_clock FROM main.\"\(table)\" WHERE substr(tally_clock, 1, 2) = x'FFFF'")
      while try query.step() {
        // One of another length is damaged in another way.
        guard let extra = (try? query.clock(0))?.extra else { continue }
        if !seen.insert(extra.number).inserted { shared.insert(extra.number) }
      }
    }
    return shared
  }

  /// Whether the log has the row with each dot of the body that it must have.
  private static func isListed(_ row: Row, _ reader: StateReader, _ dots: () throws -> Set<Dot>) throws -> Bool {
    do {
      let dots = try dots()
      return try !dots.isEmpty && dots.allSatisfy { try isListed(row, $0, reader) }
    } catch let error as StoreError where error.code == .corrupt || error.code == .invalidName {
      return false
    }
  }

  private static func isListed(_ row: Row, _ dot: Dot, _ reader: StateReader) throws -> Bool {
    var isListed = false
    for entry in try reader.logEntries(of: dot) where !isListed {
      try ChangeLog.decode(entry.items, reader.catalog) { kind, name, target in
        let key = target.map { LinkKey(source: name, target: $0).text } ?? name.text
        if kind == row.kind, key == row.key { isListed = true }
      }
    }
    return isListed
  }
}
