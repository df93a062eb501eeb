import TallyCRDT

/// Triggers, indexes and columns that the app has added to the file. Reread whenever the schema changes.
struct AppObjects {
  /// The columns of a unique index that the app added, each with its collation.
  typealias UniqueIndex = [(column: String, collation: String)]

  /// Whether every connection has the collations of an index: SQLite's own, none of the app's.
  static func hasBuiltInCollations(_ index: UniqueIndex) -> Bool {
    index.allSatisfy { ["BINARY", "NOCASE", "RTRIM"].contains($0.collation.uppercased()) }
  }

  /// Whether triggers that are not the store's are in the file, or in one that is attached. TEMP triggers always fire
  /// and do not count.
  var hasTriggers = false
  /// By table.
  var uniqueIndexes: [String: [UniqueIndex]] = [:]
  /// Those of them that are about every row of the table.
  var wholeUniqueIndexes: [String: [UniqueIndex]] = [:]
  /// Tables with a unique index that is partial, on an expression or with an app-defined collation. No trigger can tell
  /// which rows conflict in it.
  var tablesWithOpaqueUniqueIndexes = Set<String>()
  /// Tables with an index on an expression, in whose rows SQLite lets no column be opened for writing.
  var tablesWithExpressionIndexes = Set<String>()
  /// Tables with a column that is computed on reading: in their rows, places of columns differ between versions of
  /// SQLite, some of which open another column for writing than the one that is named.
  var tablesWithVirtualColumns = Set<String>()
  /// Tables with a constraint that says what SQLite does about a conflict, as `UNIQUE ON CONFLICT REPLACE`.
  var tablesWithConflictClauses = Set<String>()
  /// The columns of each table that SQLite holds to the identifiers of another, with the other's name.
  var checkedColumns: [String: [String: String]] = [:]
  /// The names of each table's columns, as stored.
  var columns: [String: [String]] = [:]

  init(_ connection: Connection, _ catalog: Catalog) throws {
    hasTriggers =
      try connection.integer(
        text: """
          SELECT 1 FROM main.sqlite_master WHERE type = 'trigger' AND name NOT GLOB 'tally_*' LIMIT 1
          """) != nil
      || connection.integer(
        text: "SELECT 1 FROM pragma_database_list WHERE name NOT IN ('main', 'temp') LIMIT 1") != nil
    let tables = catalog.orderedKinds.map(\.type) + catalog.knownLinks.map(\.table)
    for table in tables {
      try readColumns(table, connection)
      try readConflictClauses(table, connection)
      try readIndexes(table, connection)
      try readKeys(table, connection)
    }
  }

  private mutating func readColumns(_ table: String, _ connection: Connection) throws {
    let query = try SQLStatement(
      connection.handle, "SELECT name, hidden FROM pragma_table_xinfo(?, 'main') ORDER BY cid")
    query.bind(1, table)
    while try query.step() {
      columns[table, default: []].append(query.text(0) ?? "")
      if query.int(1) == 2 { tablesWithVirtualColumns.insert(table) }
    }
  }

  private mutating func readConflictClauses(_ table: String, _ connection: Connection) throws {
    let query = try SQLStatement(
      connection.handle, "SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE")
    query.bind(1, table)
    guard try query.step(), let sql = query.text(0) else { return }
    let words = sql.lowercased().split { !$0.isLetter }
    if zip(words, words.dropFirst()).contains(where: { $0 == "on" && $1 == "conflict" }) {
      tablesWithConflictClauses.insert(table)
    }
  }

  private mutating func readIndexes(_ table: String, _ connection: Connection) throws {
    let list = try SQLStatement(
      connection.handle,
      "SELECT name, \"unique\", partial FROM pragma_index_list(?, 'main') WHERE origin <> 'pk' ORDER BY name")
    list.bind(1, table)
    while try list.step() {
      guard let name = list.text(0) else { continue }
      let columns = try columns(ofIndex: name, connection)
      if columns == nil { tablesWithExpressionIndexes.insert(table) }
      guard list.int(1) == 1 else { continue }
      if list.int(2) == 1 || columns.map(Self.hasBuiltInCollations) != true {
        tablesWithOpaqueUniqueIndexes.insert(table)
      }
      guard let columns else { continue }
      uniqueIndexes[table, default: []].append(columns)
      if list.int(2) == 0 { wholeUniqueIndexes[table, default: []].append(columns) }
    }
  }

  private mutating func readKeys(_ table: String, _ connection: Connection) throws {
    let list = try SQLStatement(
      connection.handle,
      "SELECT \"from\", \"table\" FROM pragma_foreign_key_list(?, 'main') WHERE coalesce(\"to\", 'id') = 'id' COLLATE NOCASE"
    )
    list.bind(1, table)
    while try list.step() { checkedColumns[table, default: [:]][list.text(0) ?? ""] = list.text(1) ?? "" }
  }

  /// - Returns: nil for an index on an expression, or on what the store writes in place.
  private func columns(ofIndex name: String, _ connection: Connection) throws -> UniqueIndex? {
    let query = try SQLStatement(
      connection.handle, "SELECT cid, name, coll FROM pragma_index_xinfo(?, 'main') WHERE key ORDER BY seqno")
    query.bind(1, name)
    var index: UniqueIndex = []
    while try query.step() {
      guard query.int(0) != -2, query.text(1) != "tally_clock", let collation = query.text(2) else { return nil }
      index.append((query.text(1) ?? "rowid", collation))
    }
    return index
  }
}
