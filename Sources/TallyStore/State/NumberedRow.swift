import TallyCRDT

/// The tables that give numbers to replicas, types and fields. All other bytes of the file speak in these numbers, so
/// each row has a sum of its own: a row that the disk has changed would turn what one replica wrote, or what stands in
/// one field, into another's, and the sum of the content cannot say which row it was.
package enum NumberedTable: String, CaseIterable {
  case replica = "tally_replica"
  case kind = "tally_kind"
  case field = "tally_field"

  /// The columns beside `n` and `sum`.
  var columns: [String] {
    switch self {
    case .replica: ["id"]
    case .kind: ["source", "relationship", "target"]
    case .field: ["kind", "name"]
    }
  }

  fileprivate var hasNumberFirst: Bool { self == .field }
}

/// The number of rows of such a table, and the number of the last. Rows are never deleted: one that is gone was lost,
/// and its number must not be given to anything else.
private struct RowTally: Equatable {
  var last = 0
  var count = 0

  init(_ rows: [NumberedRow]) { (last, count) = (rows.map(\.number).max() ?? 0, rows.count) }

  init(_ table: NumberedTable, _ connection: Connection) throws {
    let query = try connection.statement(
      text: "SELECT coalesce(max(n), 0), count(*) FROM \(table.rawValue) NOT INDEXED")
    defer { query.reset() }
    if try query.step() { (last, count) = (query.int(0), query.int(1)) }
  }

  /// As it is noted in `tally_meta`; nil if it is not, as in older files.
  init?(notedIn connection: Connection, _ table: NumberedTable) throws {
    guard let text = try connection.meta(table.metaKey, { $0.text(0) ?? "" }) else { return nil }
    let parts = text.split(separator: " ").compactMap { Int($0) }
    // What cannot be a number says nothing.
    guard parts.count == 2, parts.allSatisfy((0...Int(Int32.max)).contains) else { return nil }
    (last, count) = (parts[0], parts[1])
  }

  func note(_ table: NumberedTable, _ connection: Connection) throws {
    let note = try connection.statement(text: "INSERT OR REPLACE INTO tally_meta VALUES('\(table.metaKey)', ?)")
    note.bind(1, "\(last) \(count)")
    try note.run()
  }
}

/// One row of such a table.
package struct NumberedRow {
  let table: NumberedTable
  package var number: Int
  /// The bytes of each column; of a number its digits.
  package var values: [[UInt8]]

  init(_ table: NumberedTable, _ number: Int, _ values: [[UInt8]]) {
    (self.table, self.number, self.values) = (table, number, values)
  }

  /// A row of a query for `n` and all other columns in their order.
  fileprivate init(_ table: NumberedTable, in query: SQLStatement) {
    self.init(table, query.int(0), (1...table.columns.count).map(query.blob))
  }

  /// A value as a text, or a number's digits.
  package func text(_ place: Int) -> String { String(decoding: values[place], as: UTF8.self) }

  /// SipHash-2-4 of the table's name, the number and the values, each value after its length.
  var sum: Int64 {
    var hash = SipHash()
    for byte in table.rawValue.utf8 { hash.combine(byte: byte) }
    hash.combine(word: UInt64(bitPattern: Int64(number)))
    for value in values {
      hash.combine(word: UInt64(value.count))
      for byte in value { hash.combine(byte: byte) }
    }
    return Int64(bitPattern: hash.finalized())
  }

  /// The row with the one bit repaired that makes its sum come out; nil if there is none.
  fileprivate func putRight(for kept: Int64) -> NumberedRow? {
    if (sum ^ kept).nonzeroBitCount <= 1 { return self }
    var other = self
    for bit in 0..<63 {
      other.number = number ^ (1 << bit)
      if other.sum == kept { return other }
    }
    other.number = number
    for (place, value) in values.enumerated() {
      if place == 0, table.hasNumberFirst, let number = Int(String(decoding: value, as: UTF8.self)) {
        for bit in 0..<63 {
          other.values[place] = Array(String(number ^ (1 << bit)).utf8)
          if other.sum == kept { return other }
        }
      } else {
        for bit in 0..<8 * value.count {
          other.values[place] = value
          other.values[place][bit / 8] ^= 1 << UInt8(bit % 8)
          if other.sum == kept { return other }
        }
      }
      other.values[place] = value
    }
    return nil
  }
}

// MARK: - The file

extension NumberedTable {
  /// The query that reads a row: `n`, the other columns and, where the file has it, the sum.
  package var query: String { "SELECT * FROM \(rawValue)" }

  /// The same of all rows, without indexes.
  func scan(_ connection: Connection) throws -> SQLStatement {
    try connection.statement(text: query + " NOT INDEXED")
  }

  /// - Throws: `StoreError.corrupt` if the row that a query is at is not what was last written.
  package func check(_ query: SQLStatement) throws(StoreError) {
    let place = columns.count + 1
    // A file of before has no such column.
    let isSound = query.columnCount <= place || query.int64(place) == NumberedRow(self, in: query).sum
    guard !isSound || !Self.numbers.contains(query.int(0)) else { return }
    throw StoreError(.corrupt, "row \(query.int(0)) of \(rawValue) was changed by the disk")
  }

  /// The row that a query is at, with one bit repaired if need be; nil if more than that is damaged.
  package func sound(_ query: SQLStatement) -> NumberedRow? {
    let (row, place) = (NumberedRow(self, in: query), columns.count + 1)
    guard query.columnCount > place else { return Self.numbers.contains(row.number) ? row : nil }
    return query.int64(place) == row.sum ? row : row.putRight(for: query.int64(place))
  }

  /// Puts rows right of which one bit was changed, and takes out those of which more was: what uses their numbers
  /// cannot be read any more, and is fetched from a peer like all that cannot.
  /// - Returns: what was lost, in words; nil if nothing was.
  func putRight(_ connection: Connection) throws -> String? {
    var rows: [NumberedRow] = []
    var bad: [(row: NumberedRow, kept: Int64?)] = []
    let query = try scan(connection)
    while try query.step() {
      let row = NumberedRow(self, in: query)
      let kept = query.isNull(columns.count + 1) ? nil : query.int64(columns.count + 1)
      if kept == row.sum { rows.append(row) } else { bad.append((row, kept)) }
    }
    query.reset()
    let noted = try RowTally(notedIn: connection, self)
    var lost = 0
    if !bad.isEmpty {
      // From before there were sums.
      let isOlder = rows.isEmpty && bad.allSatisfy { $0.kept == nil }
      let mended =
        isOlder
        ? bad.map(\.row).filter { Self.numbers.contains($0.number) }
        : bad.compactMap { row, kept in kept.flatMap(row.putRight) }
      // All of it again: of a damaged row SQLite does not find what its index says.
      try connection.execute("DELETE FROM \(rawValue)")
      var count = 0
      for row in rows + mended where try insert(row, connection) { count += 1 }
      lost = rows.count + bad.count - count
    }
    // What was just read, if it was sound; SQLite may count otherwise what it finds otherwise.
    let found = try bad.isEmpty ? RowTally(rows) : RowTally(self, connection)
    lost = max(lost, (noted?.count ?? 0) - found.count)
    if lost > 0 || noted.map({ $0.last > found.last }) ?? false {
      lost = max(lost, 1)
      try reserve(connection, after: noted?.last ?? 0)
    }
    let now = try bad.isEmpty && lost == 0 ? found : RowTally(self, connection)
    if now != noted { try now.note(self, connection) }
    return lost > 0 ? "\(lost) of the rows of \(rawValue)" : nil
  }

  /// Notes how many rows the tables have, after a transaction has added some.
  static func noteRows(_ connection: Connection) throws {
    for table in allCases { try RowTally(table, connection).note(table, connection) }
  }

  /// The key of `tally_meta` under which the number of rows is noted.
  fileprivate var metaKey: String { "numbers \(rawValue.dropFirst("tally_".count))" }

  /// The valid numbers. The file stores them as varints.
  private static let numbers = 1...Int(Int32.max)

  /// Adds a row with the next number.
  /// - Throws: GRDB's `DatabaseError`, also if the table has the names already.
  func add(_ connection: Connection, _ values: [[UInt8]]) throws -> Int {
    let last = try connection.integer(text: "SELECT max(n) FROM \(rawValue)") ?? 0
    guard try insert(NumberedRow(self, last + 1, values), connection) else {
      throw StoreError(.corrupt, "\(rawValue) has a name already that it does not find")
    }
    return last + 1
  }

  /// Leaves out as many numbers as a store may have lost: what used them would count as of what comes next. `last` is
  /// the last that is known to have been given out; one that only a disk can have written is not counted on from.
  private func reserve(_ connection: Connection, after last: Int) throws {
    let known = try RowTally(self, connection).last
    let number = max(known, last - known < Self.plausible ? last : 0) + 1000
    try leaveOut(number, connection)
  }

  /// A row that nothing uses, so that all lesser numbers count as given out.
  func leaveOut(_ number: Int, _ connection: Connection) throws {
    let name = Array("tally_lost_\(number)".utf8)
    switch self {
    case .replica:
      let id = try SQLStatement(connection, "SELECT randomblob(16)")
      _ = try id.step()
      try insert(NumberedRow(self, number, [id.blob(0)]), connection)
    case .kind: try insert(NumberedRow(self, number, [name, [], []]), connection)
    case .field: try insert(NumberedRow(self, number, [Array("\(Self.noKind)".utf8), name]), connection)
    }
  }

  private static let plausible = 1_000_000
  /// What a row that nothing uses is of: no type has this number.
  private static let noKind = KindNumber(rawValue: 0)

  /// Whether rows of `tally_field` were lost, now or at any time before.
  static func hasLostFields(_ catalog: Catalog) -> Bool { catalog.fieldOfKey[noKind] != nil }

  /// - Returns: whether it is in the table: another row may have its number or its name.
  @discardableResult
  private func insert(_ row: NumberedRow, _ connection: Connection) throws -> Bool {
    let insert = try connection.statement(
      text: """
        INSERT OR IGNORE INTO \(rawValue)(\((["n"] + columns + ["sum"]).joined(separator: ", "))) \
        VALUES(?\(String(repeating: ", ?", count: columns.count + 1)))
        """)
    insert.bind(1, row.number)
    for (place, value) in row.values.enumerated() {
      if place == 0, hasNumberFirst {
        guard let number = Int(String(decoding: value, as: UTF8.self)) else { return false }
        insert.bind(2, number)
      } else if self == .replica {
        insert.bind(2, value)
      } else {
        insert.bind(place + 2, String(decoding: value, as: UTF8.self))
      }
    }
    insert.bind(row.values.count + 2, Int(row.sum))
    try insert.run()
    return connection.changes > 0
  }
}
