import TallyCRDT
import TallyWire

/// The order in which the tables of a file were made.
///
/// It shows which tables were dropped and created again, even if all triggers are back: SQLite's manual tells programs
/// that rebuild a table to recreate its triggers. A table that is created again comes after all others. Renaming a
/// table, and VACUUM, keep the order.
struct TableOrder: Equatable {
  var names: [String] = []

  /// Whether a table that was there has been dropped and made again since.
  func hasMadeAnew(_ table: String, since before: TableOrder) -> Bool {
    guard let old = before.names.firstIndex(of: table), let new = names.firstIndex(of: table) else { return false }
    let later = Set(before.names[(old + 1)...])
    return names[..<new].contains(where: later.contains)
  }
}

// MARK: - The file

extension TableOrder {
  /// As it is in the file.
  init(_ connection: Connection) throws {
    let query = try connection.statement("SELECT name FROM main.sqlite_master WHERE type = 'table' ORDER BY rowid")
    while try query.step() { names.append(query.text(0) ?? "") }
  }

  /// As a store has noted it under `tables` in `tally_meta`; nil if none has, or if it cannot be read.
  static func kept(_ connection: Connection) throws -> TableOrder? {
    guard let bytes = try connection.meta("tables", { $0.blob(0) }) else { return nil }
    return SealedBytes.open(bytes) { reader throws(WireError) in TableOrder(names: try reader.texts()) }
  }

  func note(_ connection: Connection) throws {
    try connection.run("INSERT OR REPLACE INTO tally_meta VALUES('tables', ?)", SealedBytes.seal { $0.texts(names) })
  }

  /// Sees to it that a table of the store's own comes after those of all entities and relationships: the last of all
  /// would stay the last.
  mutating func complete(_ connection: Connection, _ catalog: Catalog) throws {
    let own = Set(catalog.ownTables)
    guard let last = names.lastIndex(where: own.contains), let place = names.firstIndex(of: Format.lastTable),
      place < last
    else { return }
    var rows: [[Value]] = []
    let query = try SQLStatement(connection, "SELECT * FROM \(Format.lastTable)")
    while try query.step() { rows.append((0..<query.columnCount).map(query.value)) }
    query.reset()
    try connection.execute("DROP TABLE \(Format.lastTable)")
    try connection.execute(Format.laterTables)
    for row in rows {
      let marks = row.map { _ in "?" }.joined(separator: ", ")
      let insert = try SQLStatement(connection, "INSERT INTO \(Format.lastTable) VALUES(\(marks))")
      for (place, value) in row.enumerated() { insert.bind(place + 1, value) }
      try insert.run()
    }
    names = try TableOrder(connection).names
  }
}

extension Catalog {
  /// The tables of entities and relationships.
  var ownTables: [String] { orderedKinds.map(\.type) + knownLinks.map(\.table) }
}
