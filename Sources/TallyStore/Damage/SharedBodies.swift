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

  /// The rows that point to a body that is not theirs. The checksum of the state says whose it is, since the name is in
  /// it: of a body that fits no row, or several, all of them are strangers.
  private(set) var strangers: [Row] = []

  /// Cost: reads the clock of each row.
  init(_ reader: StateReader) throws {
    let shared = try Self.shared(reader)
    guard !shared.isEmpty else { return }
    var rows: [Int: [(row: Row, isOwner: Bool)]] = [:]
    func add(_ kind: KindNumber, _ key: String?, _ number: Int?, _ check: () throws -> Void) throws {
      guard let key, let number, shared.contains(number) else { return }
      rows[number, default: []].append((Row(kind: kind, key: key), try Self.isOwner(check)))
    }
    for kind in reader.catalog.orderedKinds {
      try reader.forEachRow(kind) { query in
        let number = (try? query.clock(2))?.extra?.number
        try add(kind.number, query.text(1), number) {
          guard let name = try reader.name(in: query) else { throw StoreError(.corrupt, "a row has no name") }
          try reader.catalog.check(reader.record(in: query, kind), name, kind)
        }
      }
    }
    for kind in reader.catalog.knownLinks {
      let query = try SQLStatement(reader.connection, kind.rowSQL)
      while try query.step() {
        let key = query.text(1).flatMap { source in query.text(2).map { "\(source)\n\($0)" } }
        let number = (try? query.clock(3))?.extra?.number
        try add(kind.number, key, number) {
          guard let key = try reader.key(in: query) else { throw StoreError(.corrupt, "a row has no key") }
          try reader.catalog.check(reader.link(in: query, kind), key, kind)
        }
      }
    }
    for number in rows.keys.sorted() {
      let all = rows[number] ?? []
      let hasOwner = all.count { $0.isOwner } == 1
      strangers += all.filter { !hasOwner || !$0.isOwner }.map(\.row)
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

  /// Whether the state that the row points to fits its checksum under the row's name.
  private static func isOwner(_ check: () throws -> Void) throws -> Bool {
    do {
      try check()
      return true
    } catch let error as StoreError where error.code == .corrupt || error.code == .invalidName {
      return false
    }
  }
}
