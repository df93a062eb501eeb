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
        connection: connection, table: link.table, keys: ["source", "target"], columns: [],
        targets: [("source", link.source), ("target", link.target)], all: all
      ).check()
    }
  }

  private func check() throws {
    let list = keys.joined(separator: ", ")
    try checkColumns()
    try checkRowIDs()
    guard try isUnique() else {
      throw error("neither primary key nor unique index is on \(list) alone", "with PRIMARY KEY(\(list))")
    }
    try checkReferences()
  }

  private func error(_ problem: String, _ remedy: String) -> StoreError {
    StoreError(
      .incompatibleTable,
      "the table \(table) was rebuilt in a way that no store can use: \(problem); rebuild it \(remedy), and copy "
        + "all columns, tally_clock too")
  }

  private func checkColumns() throws {
    let query = try connection.statement(
      "SELECT name, pk = 1 AND upper(type) = 'INTEGER' FROM pragma_table_xinfo(?, 'main')")
    defer { query.reset() }
    query.bind(1, table)
    var present = Set<String>()
    while try query.step() {
      // SQLite's own lower() knows ASCII alone.
      let name = (query.text(0) ?? "").lowercased()
      present.insert(name)
      // As the primary key it is what SQLite tells rows apart by; any other hides that.
      guard name != "rowid" || query.int(1) == 1 else {
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

  private func checkRowIDs() throws {
    let query = try connection.statement("SELECT wr FROM pragma_table_list(?) WHERE schema = 'main'")
    defer { query.reset() }
    query.bind(1, table)
    guard try query.step(), query.int(0) == 1 else { return }
    throw error("it is WITHOUT ROWID", "without that")
  }

  /// Whether SQLite keeps two rows of one name apart, and others may refer to a name.
  private func isUnique() throws -> Bool {
    let indexes = try connection.statement(
      "SELECT name FROM pragma_index_list(?, 'main') WHERE \"unique\" AND NOT partial")
    defer { indexes.reset() }
    indexes.bind(1, table)
    var names: [String] = []
    while try indexes.step() { if let name = indexes.text(0) { names.append(name) } }
    for name in names {
      let columns = try connection.statement(
        "SELECT name, coll FROM pragma_index_xinfo(?, 'main') WHERE key ORDER BY seqno")
      defer { columns.reset() }
      columns.bind(1, name)
      var found: [String] = []
      while try columns.step() {
        guard columns.text(1)?.uppercased() == "BINARY" else { continue }
        found.append((columns.text(0) ?? "").lowercased())
      }
      if found.sorted() == keys.sorted() { return true }
    }
    return false
  }

  private func checkReferences() throws {
    let query = try connection.statement(
      """
      SELECT "from", "table", coalesce("to", 'id'), on_delete, on_update FROM pragma_foreign_key_list(?, 'main')
      """)
    defer { query.reset() }
    query.bind(1, table)
    while try query.step() {
      let (column, other, to) = (query.text(0) ?? "", query.text(1) ?? "", query.text(2) ?? "")
      // A row that leaves the table because its record is hidden or set aside must not take others with it.
      for (event, action) in [("DELETE", query.text(3) ?? ""), ("UPDATE", query.text(4) ?? "")]
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
