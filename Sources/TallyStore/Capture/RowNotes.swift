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

    /// The notes by number, those of one row together and in their order. `isOfSameRow` says whether a note is of the
    /// same row as the one before it, which has the same number.
    func groups(_ isOfSameRow: (Int) throws -> Bool) rethrows -> [Range<Int>] {
      var groups: [Range<Int>] = []
      var start = 0
      while start < rows.count {
        var end = start + 1
        while end < rows.count, rows[end] == rows[start], try isOfSameRow(end) { end += 1 }
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
  func deletedKeys(_ kind: KindNumber, isMadeAgain: Bool = false) throws -> Set<[UInt8]> {
    var keys = Set<[UInt8]>()
    guard table(kind)?.hasDeletions == true else { return keys }
    try forEachRow(kind, isMadeAgain: isMadeAgain) { _, _, deletedKey in if let key = deletedKey { keys.insert(key) } }
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
  /// has. If the table `isMadeAgain`, a number may be that of several rows, which have different clocks.
  func forEachRow(_ kind: KindNumber, isMadeAgain: Bool = false, _ body: Reading) throws {
    guard let table = table(kind)?.sorted() else { return }
    guard !table.isAscending else {
      for index in table.rows.indices.reversed() { try read(table, index, body) }
      return
    }
    let groups = try table.groups { try !isMadeAgain || clock(table.places[$0]) == clock(table.places[$0 - 1]) }
    for group in isMadeAgain ? groups : groups.reversed() { try read(table, group, body) }
  }

  /// The clock in a note; nil for a row that was not there.
  private func clock(_ place: UInt32) throws -> InlineClock? {
    place == Self.insertion ? nil : try bytes.note(at: place).clock
  }

  private func read(_ table: Table, _ group: Range<Int>, _ body: Reading) throws {
    // Most rows are written once.
    if group.count == 1 { return try read(table, group.lowerBound, body) }
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
    try body(table.row(group.lowerBound), before?.clock == .unstamped ? nil : before, deletedKey)
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
    let mayHaveMoved = notes.mayHaveMoved(kind)
    var numbers = try numbers(kind)
    let isMadeAgain = numbers != nil
    let moved = mayHaveMoved ? try notes.deletedKeys(kind, isMadeAgain: isMadeAgain) : []
    try notes.forEachRow(kind, isMadeAgain: isMadeAgain) { noted, before, deletedKey in
      let clock = isMadeAgain ? before?.clock.withBytes { Value.blob(Array($0)) } : nil
      // Each row once, whatever numbers it was noted by.
      let row = isMadeAgain ? numbers?.removeValue(forKey: clock ?? .integer(Int64(noted.rawValue))) : noted
      if let key = deletedKey {
        let text = key.withUnsafeBufferPointer { String(valid: $0) }
        let deletedRow = mayHaveMoved || isMadeAgain ? nil : noted
        try body(PendingWrite(kind: kind, key: text ?? "", deletedRow: deletedRow, before: before))
        // Another one may have come in its place, or carry its clock.
        guard !moved.isEmpty, let row else { return }
        return try body(PendingWrite(kind: kind, row: row, before: nil, except: moved))
      }
      if let row { try body(PendingWrite(kind: kind, row: row, before: before, except: moved)) }
    }
  }

  /// The numbers that rows have now in a table that the transaction has made again: by their clocks, with which they
  /// were copied, and of rows without one by these numbers. Rows that share a clock are left out: what is not captured
  /// here the next transaction looks for. Nil for any other table. Cost: reads the clocks of the table.
  private func numbers(_ kind: KindNumber) throws -> [Value: RowID]? {
    guard let tablesBefore, let table = reader.catalog.table(of: kind),
      try TableOrder(reader.connection).hasMadeAnew(table, since: tablesBefore)
    else { return nil }
    let query = try SQLStatement(
      reader.connection,
      """
      SELECT max(rowid), ifnull(nullif(tally_clock, \(InlineClock.unstampedSQL)), rowid) FROM main."\(table)"
        GROUP BY 2 HAVING count(*) = 1
      """)
    var numbers: [Value: RowID] = [:]
    while try query.step() { numbers[query.value(1)] = query.number(0) }
    return numbers
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
