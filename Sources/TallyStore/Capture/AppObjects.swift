import CTallySQLite
import TallyCRDT

/// Triggers, indexes and columns that the app has added to the file. Reread whenever the schema changes.
struct AppObjects {
  typealias UniqueIndex = Catalog.UniqueIndex

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
  /// Tables with a foreign key that is checked with each statement: a rebuild has dropped DEFERRABLE.
  var tablesWithImmediateKeys = Set<String>()
  /// The columns of each table that SQLite holds to the identifiers of another, with the other's name.
  var checkedColumns: [String: [String: String]] = [:]
  /// For columns of each table that may not be null the SQL of their default. Only the triggers need it, so it is not
  /// among what is kept of a look at the schema.
  var defaults: [String: [String: String]] = [:]
  /// The names of each table's columns, as stored.
  var columns: [String: [String]] = [:]

  init() {}

  init(_ connection: Connection, _ catalog: Catalog) throws {
    self.init()
    hasTriggers =
      try connection.integer(
        text: """
          SELECT 1 FROM main.sqlite_master WHERE type = 'trigger' AND name NOT GLOB 'tally_*' LIMIT 1
          """) != nil
    try noteAttached(connection)
    let tables = catalog.orderedKinds.map(\.type) + catalog.knownLinks.map(\.table)
    // Hardly any has such a clause, and taking its words apart costs much.
    let sql = try SQLStatement(
      connection,
      """
      SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE
      AND instr(lower(sql), 'conflict')
      """)
    for table in tables {
      try readColumns(table, connection)
      try readConflictClauses(table, sql)
      try readIndexes(table, connection)
      try readKeys(table, connection)
    }
  }

  /// Triggers of a file that is attached count as well, and which those are is not looked up.
  mutating func noteAttached(_ connection: Connection) throws {
    if try connection.hasAttachedFiles() { hasTriggers = true }
  }

  private mutating func readColumns(_ table: String, _ connection: Connection) throws {
    // cid, name, type, notnull, dflt_value, pk, hidden
    let query = try SQLStatement(connection, pragma: "table_xinfo", of: table)
    while try query.step() {
      let name = query.text(1) ?? ""
      columns[table, default: []].append(name)
      if query.int(3) == 1, !query.isNull(4), let value = query.text(4) {
        defaults[table, default: [:]][name] = "(\(value))"
      }
      if query.int(6) == 2 { tablesWithVirtualColumns.insert(table) }
    }
  }

  private mutating func readConflictClauses(_ table: String, _ query: SQLStatement) throws {
    query.bind(1, table)
    defer { query.reset() }
    guard try query.step(), let sql = query.text(0) else { return }
    let words = sql.lowercased().split { !$0.isLetter }
    if zip(words, words.dropFirst()).contains(where: { $0 == "on" && $1 == "conflict" }) {
      tablesWithConflictClauses.insert(table)
    }
  }

  private mutating func readIndexes(_ table: String, _ connection: Connection) throws {
    // seq, name, unique, origin, partial
    let list = try SQLStatement(connection, pragma: "index_list", of: table)
    var indexes: [(name: String, isUnique: Bool, isPartial: Bool)] = []
    while try list.step() {
      guard list.text(3) != "pk" else { continue }
      if let name = list.text(1) { indexes.append((name, list.int(2) == 1, list.int(4) == 1)) }
    }
    for index in indexes.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
      let columns = try columns(ofIndex: index.name, connection)
      if columns == nil { tablesWithExpressionIndexes.insert(table) }
      guard index.isUnique else { continue }
      if index.isPartial || columns.map(Self.hasBuiltInCollations) != true {
        tablesWithOpaqueUniqueIndexes.insert(table)
      }
      guard let columns else { continue }
      uniqueIndexes[table, default: []].append(columns)
      if !index.isPartial { wholeUniqueIndexes[table, default: []].append(columns) }
    }
  }

  private mutating func readKeys(_ table: String, _ connection: Connection) throws {
    // id, seq, table, from, to, on_update, on_delete, match
    let list = try SQLStatement(connection, pragma: "foreign_key_list", of: table)
    var keys = Set<Int>()
    while try list.step() {
      keys.insert(list.int(0))
      guard list.isNull(4) || list.text(4)?.lowercased() == "id" else { continue }
      checkedColumns[table, default: [:]][list.text(3) ?? ""] = list.text(2) ?? ""
    }
    guard !keys.isEmpty else { return }
    // No pragma says when a key is checked.
    let query = try connection.statement(
      "SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE")
    defer { query.reset() }
    query.bind(1, table)
    guard try query.step(), let sql = query.text(0) else { return }
    // The words may stand in a comment.
    if Self.deferredKeys(in: sql) < keys.count || sql.contains("--") || sql.contains("/*") {
      tablesWithImmediateKeys.insert(table)
    }
  }

  private static func deferredKeys(in sql: String) -> Int {
    let words = sql.lowercased().split { !$0.isLetter }.map(String.init)
    return words.indices.count { index in
      words[index...].starts(with: ["deferrable", "initially", "deferred"]) && (index == 0 || words[index - 1] != "not")
    }
  }

  /// - Returns: nil for an index on an expression, or on what the store writes in place.
  private func columns(ofIndex name: String, _ connection: Connection) throws -> UniqueIndex? {
    // seqno, cid, name, desc, coll, key
    let query = try SQLStatement(connection, pragma: "index_xinfo", of: name)
    var index: UniqueIndex = []
    while try query.step() {
      guard query.int(5) == 1 else { continue }
      guard query.int(1) != -2, query.text(2) != "tally_clock", let collation = query.text(4) else { return nil }
      index.append((query.text(2) ?? "rowid", collation))
    }
    return index
  }
}

extension Connection {
  /// Whether any file is attached to the connection.
  func hasAttachedFiles() throws -> Bool {
    let answer = tally_has_attached(handle)
    guard answer < 0 else { return answer == 1 }
    // seq, name, file
    let list = try statement("PRAGMA database_list")
    defer { list.reset() }
    while try list.step() {
      if let name = list.text(1), name != "main", name != "temp" { return true }
    }
    return false
  }
}
