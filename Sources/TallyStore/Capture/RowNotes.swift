import TallyCRDT

/// The values that one transaction's writes found in the rows, noted as they happened, by the number of the row.
///
/// Costs the bytes of a small row, as long as there are not too many of them; then, and for a larger row, some thirty
/// bytes where one small column changed: the other columns still have their old values.
struct RowNotes {
  /// The notes of one table, in the order of the writes.
  private struct Table {
    var rows: [Int64] = []
    /// The position of each note; `insertion` for a row that was not there.
    var places: [UInt32] = []
    /// Whether each row was noted once, with numbers that ascend.
    var isAscending = true
    var hasInsertions = false
    var hasDeletions = false

    func row(_ index: Int) -> RowID { RowID(rawValue: Int(rows[index])) }

    mutating func append(_ row: Int64, _ place: UInt32) {
      if let last = rows.last, last >= row { isAscending = false }
      rows.append(row)
      places.append(place)
    }

    /// Forgets some notes.
    mutating func remove(_ places: [Int]) {
      for place in places.reversed() {
        rows.remove(at: place)
        self.places.remove(at: place)
      }
    }

    /// The notes by number, those of one row together and in their order.
    var groups: [Range<Int>] {
      var groups: [Range<Int>] = []
      var start = 0
      while start < rows.count {
        var end = start + 1
        while end < rows.count, rows[end] == rows[start] { end += 1 }
        groups.append(start..<end)
        start = end
      }
      return groups
    }

    /// The same notes, sorted by row.
    func sorted() -> Table {
      if isAscending { return self }
      var table = self
      let order = rows.indices.sorted { (rows[$0], $0) < (rows[$1], $1) }
      table.rows = order.map { rows[$0] }
      table.places = order.map { places[$0] }
      return table
    }
  }

  private static let insertion = UInt32.max
  /// By the kind; there are few.
  private var tables: [(kind: KindNumber, table: Table)] = []
  var lastInsertion: (kind: Int, row: Int64)?
  private let bytes = NoteBytes()
  /// The error of a hook, which cannot throw.
  var failure: (any Error)?

  var isEmpty: Bool { tables.isEmpty && failure == nil }

  // MARK: Noting

  /// Whether the last that happened in the table is that the row came: then nothing more needs to be known of it.
  func isInserted(_ kind: KindNumber, _ row: Int64) -> Bool {
    lastInsertion.map { $0.kind == kind.rawValue && $0.row == row } ?? false
  }

  mutating func noteInsert(_ kind: KindNumber, _ row: Int64) {
    let index = index(of: kind)
    tables[index].table.append(row, Self.insertion)
    tables[index].table.hasInsertions = true
    lastInsertion = (kind.rawValue, row)
  }

  mutating func noteUpdate(
    _ kind: KindNumber, _ row: Int64, _ clock: InlineClock, _ values: [(place: Int, value: ColumnValue)]
  ) throws {
    let place = try bytes.append(clock, key: [], values)
    tables[index(of: kind)].table.append(row, place)
    lastInsertion = nil
  }

  /// Notes a small row as a whole. Whether the update changes anything is left to who reads the note.
  /// - Returns: false if this is not to be.
  mutating func noteSmallUpdate(
    _ kind: KindNumber, _ row: Int64, columns: Int, _ copy: (UnsafeMutableRawPointer, Int, Int) throws -> Int
  ) throws -> Bool {
    guard let place = try bytes.append(key: .init(start: nil, count: 0), columns: columns, copy) else { return false }
    tables[index(of: kind)].table.append(row, place)
    lastInsertion = nil
    return true
  }

  /// Notes a small row that is deleted or gets another key.
  /// - Returns: false if it is not small, or if many have been noted.
  mutating func noteSmallDelete(
    _ kind: KindNumber, _ row: Int64, key: UnsafeBufferPointer<UInt8>, columns: Int,
    _ copy: (UnsafeMutableRawPointer, Int, Int) throws -> Int
  ) throws -> Bool {
    guard let place = try bytes.append(key: key, columns: columns, copy) else { return false }
    noteDelete(kind, row, place)
    return true
  }

  mutating func noteDelete(
    _ kind: KindNumber, _ row: Int64, _ key: [UInt8], _ clock: InlineClock,
    _ values: [(place: Int, value: ColumnValue)]
  ) throws {
    noteDelete(kind, row, try bytes.append(clock, key: key, values))
  }

  private mutating func noteDelete(_ kind: KindNumber, _ row: Int64, _ place: UInt32) {
    let index = index(of: kind)
    tables[index].table.append(row, place)
    tables[index].table.hasDeletions = true
    lastInsertion = nil
  }

  /// Forgets the updates of a row, unless it also came, went or got another key.
  mutating func forgetUpdates(_ kind: KindNumber, _ row: RowID) throws {
    guard let index = tables.firstIndex(where: { $0.kind == kind }) else { return }
    let table = tables[index].table
    let found = table.rows.indices.filter { table.row($0) == row }
    for place in found {
      guard table.places[place] != Self.insertion, try bytes.note(at: table.places[place]).key.isEmpty else { return }
    }
    tables[index].table.remove(found)
    if tables[index].table.rows.isEmpty { tables.remove(at: index) }
  }

  private mutating func index(of kind: KindNumber) -> Int {
    for index in tables.indices where tables[index].kind == kind { return index }
    tables.append((kind, Table()))
    return tables.count - 1
  }

  private func table(_ kind: KindNumber) -> Table? { tables.first { $0.kind == kind }?.table }

  // MARK: Reading

  /// The kinds that have notes, ascending.
  var kinds: [KindNumber] {
    let kinds = tables.map(\.kind)
    return kinds.count < 2 ? kinds : kinds.sorted()
  }

  /// The keys of rows that were there before and were deleted or got another key, even if they have a row again.
  func deletedKeys(_ kind: KindNumber, byClock: Bool = false) throws -> Set<[UInt8]> {
    var keys = Set<[UInt8]>()
    guard table(kind)?.hasDeletions == true else { return keys }
    try forEachRow(kind, byClock: byClock) { _, _, deletedKey in if let key = deletedKey { keys.insert(key) } }
    return keys
  }

  /// Whether keys can have gone from one row to another.
  func mayHaveMoved(_ kind: KindNumber) -> Bool {
    table(kind).map { $0.hasInsertions && $0.hasDeletions } ?? false
  }

  /// Receives the number of a row; what was in it, or nil if no row that was ever captured had this number; and the key
  /// that the row had, if it has been deleted or renamed since.
  typealias Reading = (RowID, consuming PendingWrite.Image?, consuming [UInt8]?) throws -> Void

  /// Each row of a kind once; the last ones first: of a large transaction they are the ones that SQLite's cache still
  /// has. `byClock`, what has one clock is one row, whatever numbers it had, and rows without a clock come last.
  func forEachRow(_ kind: KindNumber, byClock: Bool = false, _ body: Reading) throws {
    guard let all = table(kind) else { return }
    guard !byClock else {
      var (groups, stamped, others) = ([[Int]](), [InlineClock: Int](), [Int64: Int]())
      for index in all.rows.indices {
        let isNew = all.places[index] == Self.insertion
        let clock = isNew ? .unstamped : try bytes.note(at: all.places[index]).clock
        let known = clock == .unstamped ? others[all.rows[index]] : stamped[clock]
        if known == nil { groups.append([]) }
        let group = known ?? groups.count - 1
        groups[group].append(index)
        if clock == .unstamped { others[all.rows[index]] = group } else { stamped[clock] = group }
      }
      let last = Set(others.values)
      for isLast in [false, true] {
        for (place, group) in groups.enumerated() where last.contains(place) == isLast { try read(all, group, body) }
      }
      return
    }
    let table = all.sorted()
    guard !table.isAscending else {
      for index in table.rows.indices.reversed() { try read(table, index, body) }
      return
    }
    for group in table.groups.reversed() { try read(table, group, body) }
  }

  private func read(_ table: Table, _ group: some BidirectionalCollection<Int>, _ body: Reading) throws {
    // Most rows are written once.
    guard let first = group.first, let last = group.last else { return }
    if first == last { return try read(table, first, body) }
    var (before, deletedKey): (PendingWrite.Image?, [UInt8]?)
    for index in group {
      guard table.places[index] != Self.insertion else { break }
      let note = try bytes.note(at: table.places[index])
      if before == nil { before = PendingWrite.Image(clock: note.clock, written: []) }
      let known = before?.written ?? []
      // Of each column the first note counts.
      before?.written += note.values.filter { value in !known.contains { $0.place == value.place } }
      guard note.key.isEmpty else {
        deletedKey = note.key
        break
      }
    }
    try body(table.row(last), before?.clock == .unstamped ? nil : before, deletedKey)
  }

  private func read(_ table: Table, _ index: Int, _ body: Reading) throws {
    let (row, place) = (table.row(index), table.places[index])
    guard place != Self.insertion else { return try body(row, nil, nil) }
    if let (clock, key, columns) = try bytes.wholeRow(at: place) {
      let deletedKey = key.isEmpty ? nil : Array(key)
      // A row without a clock was never part of the replicated state.
      guard clock != .unstamped else { return try body(row, nil, deletedKey) }
      let whole = PendingWrite.WholeRow(bytes: bytes, position: place, columns: columns)
      return try body(row, PendingWrite.Image(clock: clock, written: [], whole: whole), deletedKey)
    }
    let note = try bytes.note(at: place)
    let before = note.clock == .unstamped ? nil : PendingWrite.Image(clock: note.clock, written: note.values)
    try body(row, before, note.key.isEmpty ? nil : note.key)
  }
}

/// The writes that the hook noted, for `Capture`.
struct RecordedRows: WrittenRows {
  private let notes: RowNotes
  private let reader: StateReader
  /// The order of the tables before the transaction; nil if it cannot have made any again.
  private let tablesBefore: TableOrder?

  init(_ notes: RowNotes, _ reader: StateReader, since tables: TableOrder?) {
    (self.notes, self.reader, tablesBefore) = (notes, reader, tables)
  }

  func forEachWrite(records: (PendingWrite) throws -> Void, links: (PendingWrite) throws -> Void) throws {
    if let failure = notes.failure { throw failure }
    for kind in notes.kinds where reader.catalog.records[kind] != nil { try forEachWrite(kind, records) }
    for kind in notes.kinds where reader.catalog.links[kind] != nil { try forEachWrite(kind, links) }
  }

  private func forEachWrite(_ kind: KindNumber, _ body: (PendingWrite) throws -> Void) throws {
    let found = try tablesBefore.flatMap { try ClockedRows(kind, reader, since: $0) }
    let mayHaveMoved = found?.isMadeAgain == true || notes.mayHaveMoved(kind)
    let moved = mayHaveMoved ? try notes.deletedKeys(kind, byClock: found != nil) : []
    try notes.forEachRow(kind, byClock: found != nil) { noted, before, deletedKey in
      var row: RowID? = noted
      if let found, deletedKey == nil || found.isMadeAgain { row = try found.take(before?.clock, noted) }
      if let key = deletedKey {
        let text = key.withUnsafeBufferPointer { String(valid: $0) }
        try body(PendingWrite(kind: kind, key: text ?? "", deletedRow: mayHaveMoved ? nil : noted, before: before))
        // Another one may have come in its place, or carry its clock.
        guard !moved.isEmpty, let row else { return }
        return try body(PendingWrite(kind: kind, row: row, isOfNewSchema: found != nil, except: moved))
      }
      guard let row else { return }
      try body(PendingWrite(kind: kind, row: row, before: before, isOfNewSchema: found != nil, except: moved))
    }
  }

  func namesBefore() throws -> Set<String> {
    var names = Set<String>()
    for kind in notes.kinds where reader.catalog.records[kind] != nil {
      for key in try notes.deletedKeys(kind) {
        if let name = String(validating: key, as: UTF8.self) { names.insert(name) }
      }
    }
    return names
  }

  func end() {}
}

/// Finds rows that were noted in a transaction that has changed the schema: it may have made the table again, also for
/// a while, and then a number is that of another row. A row is the one that carries the clock that was noted, with
/// which tables are copied; one without a clock goes by its number. Each is found once.
private final class ClockedRows {
  let isMadeAgain: Bool
  private let connection: Connection
  private let number: SQLStatement
  private let table: String
  private var numbers: [InlineClock: RowID]?
  private var taken = Set<RowID>()

  /// Nil for a table that is gone.
  init?(_ kind: KindNumber, _ reader: StateReader, since before: TableOrder) throws {
    guard let table = reader.catalog.table(of: kind) else { return nil }
    (connection, self.table) = (reader.connection, table)
    isMadeAgain = try TableOrder(connection).hasMadeAnew(table, since: before)
    number = try SQLStatement(connection, "SELECT tally_clock FROM main.\"\(table)\" WHERE rowid = ?")
  }

  /// The number of a row that had this clock, and a number at some time.
  func take(_ clock: InlineClock?, _ noted: RowID) throws -> RowID? {
    number.bind(1, noted)
    defer { number.reset() }
    let isThere = try number.step()
    // Another program wrote there what is no clock.
    let known = isThere ? (try? number.clock(0)) ?? .leaving : .unstamped
    var row: RowID?
    if isThere, known == clock ?? .unstamped || clock == nil && !isMadeAgain {
      row = noted
    } else if let clock {
      row = try numbersByClock()[clock]
    }
    return row.flatMap { taken.insert($0).inserted ? $0 : nil }
  }

  /// Rows that share a clock are left out: what is not captured here the next transaction looks for. Cost: reads the
  /// clocks of the table.
  private func numbersByClock() throws -> [InlineClock: RowID] {
    if let numbers { return numbers }
    let query = try SQLStatement(
      connection,
      """
      SELECT max(rowid), tally_clock FROM main."\(table)" WHERE tally_clock <> \(InlineClock.unstampedSQL)
        GROUP BY 2 HAVING count(*) = 1
      """)
    var found: [InlineClock: RowID] = [:]
    while try query.step() { if let clock = try? query.clock(1) { found[clock] = query.number(0) } }
    numbers = found
    return found
  }
}

extension InlineClock {
  /// Whether it is that of a record with these values. What cannot be read is of none.
  func isOf(_ name: AnyRecordName, _ values: [Value], _ kind: RecordKind, _ reader: StateReader) -> Bool {
    guard self != .unstamped, let (state, sum) = try? reader.state(self, values, kind) else { return false }
    return StateSum(reader.catalog.fingerprint(name, kind, from: nil, to: state)) == sum
  }
}
