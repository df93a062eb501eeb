import GRDB
import GRDBSQLite
import TallyCRDT

/// Looks whether a table that the app may have rebuilt (create, copy, drop, rename) can still be a store's. SQLite
/// takes many that cannot, and fails later, at another place, with words that name neither table nor remedy.
struct TableShape {
  private let connection: Connection
  private let table: String
  /// The columns that tell rows apart.
  private let keys: [String]
  private let columns: [String]
  /// Columns that refer to others, with the table of those.
  private let targets: [(column: String, table: String)]
  /// The tables of all entities and relationships, in small letters.
  private let all: Set<String>

  /// Looks at the tables of all entities and relationships.
  /// - Throws: `StoreError.incompatibleTable`.
  static func check(_ connection: Connection, _ catalog: Catalog) throws {
    let all = Set((catalog.orderedKinds.map(\.type) + catalog.knownLinks.map(\.table)).map { $0.lowercased() })
    for kind in catalog.orderedKinds {
      let targets = kind.columns.compactMap { column in column.reference.map { (column.name, $0.to) } }
      try TableShape(
        connection: connection, table: kind.type, keys: ["id"], columns: kind.columns.map(\.name), targets: targets,
        all: all
      ).check()
    }
    for link in catalog.knownLinks {
      try TableShape(
        connection: connection, table: link.table, keys: ["source", "target"],
        columns: link.isOrdered ? ["position"] : [],
        targets: [("source", link.source), ("target", link.target)], all: all
      ).check()
    }
  }

  /// Runs the body and explains SQLite's error about a table that a store cannot use, which by itself does not help
  /// anybody.
  static func explaining<T>(_ connection: Connection, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch  where error is DatabaseError || (error as? StoreError)?.code == .corrupt {
      if let catalog = try? Catalog.load(connection, cached: nil) { try check(connection, catalog) }
      throw error
    }
  }

  private func check() throws {
    guard try isThere() else {
      throw StoreError(
        .incompatibleTable,
        "the table \(table) is not there: another program has dropped or renamed it. Rename it back; or open the store for "
          + "writing, which makes the table again, and sync with another device, which brings back what was in it")
    }
    let list = keys.joined(separator: ", ")
    try checkColumns()
    try checkRowIDs()
    guard try isUnique() else {
      throw error("neither primary key nor unique index is on \(list) alone", "with PRIMARY KEY(\(list))")
    }
    try checkReferences()
  }

  private func isThere() throws -> Bool {
    let query = try SQLStatement(
      connection.handle, "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?1 COLLATE NOCASE")
    query.bind(1, table)
    return try query.step()
  }

  private func error(_ problem: String, _ remedy: String) -> StoreError {
    StoreError(
      .incompatibleTable,
      "the table \(table) was rebuilt in a way that no store can use: \(problem); rebuild it \(remedy), and copy "
        + "all columns, tally_clock too")
  }

  private func checkColumns() throws {
    // cid, name, type, notnull, dflt_value, pk, hidden
    let query = try SQLStatement(connection, pragma: "table_xinfo", of: table)
    var present = Set<String>()
    while try query.step() {
      if query.text(1)?.lowercased() == "tally_clock" {
        try checkClock(isRequired: query.int(3) == 1, default: query.isNull(4) ? nil : query.text(4))
      }
      // SQLite's own lower() knows ASCII alone.
      let name = (query.text(1) ?? "").lowercased()
      present.insert(name)
      // As the primary key it is what SQLite tells rows apart by; any other hides that.
      guard try name != "rowid" || query.text(2)?.uppercased() == "INTEGER" && isAlias(pk: query.int(5)) else {
        throw error("a column is named rowid, which hides SQLite's own", "with another name for it")
      }
    }
    for column in keys + ["tally_clock"] + columns where !present.contains(column.lowercased()) {
      throw error("the column \(column) is missing", "with it")
    }
    for key in keys {
      var collation: UnsafePointer<CChar>?
      let result = sqlite3_table_column_metadata(
        connection.handle, "main", table, key, nil, &collation, nil, nil, nil)
      guard result == SQLITE_OK, let collation else { continue }
      let name = String(cString: collation)
      guard name.uppercased() == "BINARY" else {
        throw error("\(key) is compared with the collation \(name)", "with \(key) TEXT NOT NULL and no COLLATE")
      }
    }
  }

  /// An insert of the app's says nothing of the clock, so the default must be that of a row which was never captured;
  /// some tools write the default of a blob as a text.
  private func checkClock(isRequired: Bool, default sql: String?) throws {
    let value = try sql.flatMap { try literal(of: $0) } ?? "NULL"
    let isUnstamped = value.lowercased() == InlineClock.unstampedSQL.lowercased()
    guard !isUnstamped, value != "NULL" || isRequired else { return }
    throw error(
      value == "NULL"
        ? "tally_clock may not be null and has no default" : "tally_clock has another default than a store gives it",
      "with tally_clock BLOB NOT NULL DEFAULT \(InlineClock.unstampedSQL)")
  }

  private func literal(of expression: String) throws -> String? {
    let query = try SQLStatement(connection, "SELECT quote(\(expression))")
    return try query.step() ? query.text(0) : nil
  }

  /// Whether a column of type INTEGER is another name for SQLite's own number of rows: it is the primary key, alone,
  /// and no index stands behind that, as one does with INTEGER PRIMARY KEY DESC
  /// (https://www.sqlite.org/lang_createtable.html#rowids_and_the_integer_primary_key).
  private func isAlias(pk: Int) throws -> Bool {
    guard pk == 1 else { return false }
    let indexes = try SQLStatement(connection, pragma: "index_list", of: table)
    while try indexes.step() { if indexes.text(3) == "pk" { return false } }
    return true
  }

  private func checkRowIDs() throws {
    // schema, name, type, ncol, wr, strict
    let query = try SQLStatement(connection, pragma: "table_list", of: table)
    guard try query.step(), query.int(4) == 1 else { return }
    throw error("it is WITHOUT ROWID", "without that")
  }

  /// Whether SQLite keeps two rows of one name apart, and others may refer to a name.
  private func isUnique() throws -> Bool {
    // seq, name, unique, origin, partial
    let indexes = try SQLStatement(connection, pragma: "index_list", of: table)
    var names: [String] = []
    while try indexes.step() {
      guard indexes.int(2) == 1, indexes.int(4) == 0 else { continue }
      if let name = indexes.text(1) { names.append(name) }
    }
    for name in names {
      // seqno, cid, name, desc, coll, key
      let columns = try SQLStatement(connection, pragma: "index_xinfo", of: name)
      var found: [String] = []
      while try columns.step() {
        guard columns.int(5) == 1, columns.text(4)?.uppercased() == "BINARY" else { continue }
        found.append((columns.text(2) ?? "").lowercased())
      }
      if found.sorted() == keys.sorted() { return true }
    }
    return false
  }

  private func checkReferences() throws {
    // id, seq, table, from, to, on_update, on_delete, match
    let query = try SQLStatement(connection, pragma: "foreign_key_list", of: table)
    while try query.step() {
      let (column, other, to) = (query.text(3) ?? "", query.text(2) ?? "", query.isNull(4) ? "id" : query.text(4) ?? "")
      // A row that leaves the table because its record is hidden or set aside must not take others with it.
      for (event, action) in [("DELETE", query.text(6) ?? ""), ("UPDATE", query.text(5) ?? "")]
      where action != "NO ACTION" && all.contains(other.lowercased()) {
        throw error(
          "\(column) has ON \(event) \(action)", "without it; onDelete in the schema says what becomes of referrers")
      }
      guard let wanted = targets.first(where: { $0.column.lowercased() == column.lowercased() })?.table,
        other.lowercased() != wanted.lowercased() || to.lowercased() != "id"
      else { continue }
      throw error(
        "\(column) refers to \(other)(\(to))",
        "with \(column) REFERENCES \"\(wanted)\"(id) DEFERRABLE INITIALLY DEFERRED, or without REFERENCES")
    }
  }
}
