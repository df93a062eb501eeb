import TallyCRDT

/// The writes that triggers noted in `tally_pending`: those of other connections, and where SQLite lacks the hook those
/// of the store's own.
///
/// Rows that a connection without a store wrote in one go can be many and large. So only their keys are held, of some
/// ten thousand at a time, and what was in a row is read when it is its turn.
struct PendingTable: WrittenRows {
  private let connection: Connection
  private let catalog: Catalog
  private let refusals: Refusals
  private let origin: Capture.Origin
  /// The last note that this reading is about.
  private let last: Int
  private let parts: Int
  /// The number of notes that are grouped at a time.
  private static let partSize = 50_000
  /// The `op` of a note that no trigger has made. Triggers note 0 for an insert, 1 for an update, 2 for a delete and 3
  /// for a row that may be replaced; 4 and above are no writes.
  static let unnotedChange = -1
  /// The `op` of a row whose state was lost and that is captured as it stands.
  static let lostState = -2
  /// Of rows with at most so many columns a note has only those that changed, one bit each; of others it has all.
  static let mostMarked = 60
  /// The number of columns of `tally_pending` that precede those of the values.
  static let fixedColumns = 7

  /// - Returns: nil if there are no notes.
  init?(_ connection: Connection, _ catalog: Catalog, _ refusals: Refusals, _ origin: Capture.Origin) throws {
    let query = try connection.statement("SELECT max(n), count(*) FROM tally_pending WHERE op < 4")
    defer { query.reset() }
    guard try query.step(), query.int(1) > 0 else { return nil }
    (self.connection, self.catalog, self.refusals, self.origin) = (connection, catalog, refusals, origin)
    last = query.int(0)
    parts = (query.int(1) + Self.partSize - 1) / Self.partSize
  }

  func forEachWrite(records: (PendingWrite) throws -> Void, links: (PendingWrite) throws -> Void) throws {
    for part in 0..<parts {
      for (address, notes) in try groups(part) where catalog.records[address.kind] != nil {
        try records(write(address, notes))
      }
    }
    for part in 0..<parts {
      for (address, notes) in try groups(part) where catalog.links[address.kind] != nil {
        try links(write(address, notes))
      }
    }
  }

  /// The notes of each row, those written last first.
  private func groups(_ part: Int) throws -> [(RowAddress, notes: [Int])] {
    let query = try SQLStatement(
      connection, "SELECT n, kind, key FROM tally_pending WHERE op < 4 AND n <= \(last) ORDER BY n")
    var places: [RowAddress: Int] = [:]
    var groups: [(RowAddress, notes: [Int])] = []
    while try query.step() {
      guard parts == 1 || Self.part(query, of: parts) == part else { continue }
      guard let key = query.text(2) else {
        guard origin != .app else { throw StoreError(.invalidName, "a record name is not valid UTF-8") }
        try refusals.refuse(unreadable: query.int(0))
        continue
      }
      let address = RowAddress(kind: query.number(1), key: key)
      if let place = places[address] {
        groups[place].notes.append(query.int(0))
      } else {
        places[address] = groups.count
        groups.append((address, [query.int(0)]))
      }
    }
    return groups.reversed()
  }

  private static func part(_ query: SQLStatement, of parts: Int) -> Int {
    query.withBytes(ofText: 2) { bytes in
      // FNV-1a: any spread will do, as long as a key is always in the same part.
      let hash = bytes.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
      return Int(hash % UInt64(parts))
    }
  }

  private func write(_ address: RowAddress, _ notes: [Int]) throws -> PendingWrite {
    var write = PendingWrite(kind: address.kind, key: address.key)
    let count =
      catalog.records[address.kind]?.columns.count ?? (catalog.links[address.kind]?.isOrdered == true ? 1 : 0)
    for (index, note) in notes.enumerated() {
      let query = try connection.statement(text: Self.select(count))
      defer { query.reset() }
      query.bind(1, note)
      guard try query.step() else { continue }
      if write.row == nil, !query.isNull(1) { write.row = query.number(1) }
      if index == 0 {
        write.isAnew = query.int(3) == Self.lostState
        // There was no row, or one that was never part of the replicated state.
        guard let clock = try? query.clock(0), clock != .unstamped else { return write }
        write.before = .init(clock: clock, written: [])
        write.isUnnoted = query.int(3) == Self.unnotedChange
      }
      guard query.int(3) != 0 else {
        // Rows that the insert could conflict with are noted whole before it. One that was not was deleted unnoticed.
        write.isLost = write.before.map { $0.written.count < count } ?? false
        break
      }
      let isWhole = query.isNull(2)
      let changed = UInt64(bitPattern: query.int64(2))
      let known = write.before?.written.map(\.place) ?? []
      // Of each column the first note counts.
      for place in 0..<count where (isWhole || changed >> UInt64(place) & 1 == 1) && !known.contains(place) {
        write.before?.written.append((place, query.value(4 + place)))
      }
      if isWhole { break }
    }
    return write
  }

  private static func select(_ count: Int) -> String {
    let values = (0..<count).map { ", c\($0)" }.joined()
    return "SELECT clock, number, changed, op\(values) FROM tally_pending WHERE n = ?"
  }

  func namesBefore() throws -> Set<String> {
    var names = Set<String>()
    let query = try SQLStatement(
      connection, "SELECT kind, key FROM tally_pending WHERE op < 4 AND n <= \(last) AND clock IS NOT NULL")
    while try query.step() {
      if catalog.records[query.number(0)] != nil, let name = query.text(1) { names.insert(name) }
    }
    return names
  }

  func end() throws {
    let left = try connection.integer(text: "SELECT 1 FROM tally_pending WHERE op >= 4 OR n > \(last) LIMIT 1")
    // Without a condition SQLite empties the table at once (https://www.sqlite.org/lang_delete.html#truncateopt).
    let condition = left == nil ? "" : " WHERE op < 4 AND n <= \(last)"
    try connection.execute("DELETE FROM tally_pending\(condition)")
  }
}

extension StateReader {
  /// Whether something was written that has not been captured.
  func hasPendingWrites() throws -> Bool {
    try connection.exists("SELECT 1 FROM tally_pending WHERE op < 4 LIMIT 1")
  }
}
