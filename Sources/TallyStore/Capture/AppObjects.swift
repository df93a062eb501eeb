import CTallySQLite
import TallyCRDT

/// Triggers, indexes and columns that the app has added to the file. Reread whenever the schema changes.
struct AppObjects {
  typealias UniqueIndex = Catalog.UniqueIndex

  /// What a table has that a store must go by.
  struct Traits: OptionSet {
    var rawValue: UInt8

    /// A unique index that is partial, on an expression or with an app-defined collation. No trigger can tell which
    /// rows conflict in it.
    static let opaqueUniqueIndex = Traits(rawValue: 1)
    /// An index on an expression, in whose rows SQLite lets no column be opened for writing.
    static let expressionIndex = Traits(rawValue: 2)
    /// A column that is computed on reading: in its rows, places of columns differ between versions of SQLite, some of
    /// which open another column for writing than the one that is named.
    static let virtualColumn = Traits(rawValue: 4)
    /// A constraint that says what SQLite does about a conflict, as `UNIQUE ON CONFLICT REPLACE`.
    static let conflictClause = Traits(rawValue: 8)
    /// A foreign key that is checked with each statement: a rebuild has dropped DEFERRABLE.
    static let immediateKey = Traits(rawValue: 16)
  }

  struct Table {
    var traits: Traits = []
    /// The names of the columns, as stored.
    var columns: [String] = []
    /// The unique indexes on columns that are about every row, and those that are not.
    var wholeIndexes: [UniqueIndex] = []
    var partialIndexes: [UniqueIndex] = []
    /// The columns that SQLite holds to the identifiers of another table, with the other's name.
    var checkedColumns: [String: String] = [:]
    /// For columns that may not be null the SQL of their default. Only the triggers need it, so it is not among what is
    /// kept of a look at the schema.
    var defaults: [String: String] = [:]
  }

  /// Whether every connection has the collations of an index: SQLite's own, none of the app's.
  static func hasBuiltInCollations(_ index: UniqueIndex) -> Bool {
    index.allSatisfy { ["BINARY", "NOCASE", "RTRIM"].contains($0.collation.uppercased()) }
  }

  /// Whether triggers that are not the store's are in the file, or in one that is attached. TEMP triggers always fire
  /// and do not count.
  var hasTriggers = false
  /// The tables of entities and relationships, by name.
  var tables: [String: Table] = [:]

  /// The names of the tables that have one of these.
  func tables(with traits: Traits) -> Set<String> {
    Set(tables.lazy.filter { !$0.value.traits.isDisjoint(with: traits) }.map(\.key))
  }

  init() {}

  init(_ connection: Connection, _ catalog: Catalog) throws {
    self.init()
    hasTriggers =
      try connection.integer(
        text: """
          SELECT 1 FROM main.sqlite_master WHERE type = 'trigger' AND name NOT GLOB 'tally_*' LIMIT 1
          """) != nil
    try noteAttached(connection)
    // Hardly any has such a clause, and taking its words apart costs much.
    let sql = try SQLStatement(
      connection,
      """
      SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE
      AND instr(lower(sql), 'conflict')
      """)
    for name in catalog.ownTables {
      var table = Table()
      try table.readColumns(name, connection)
      try table.readConflictClauses(name, sql)
      try table.readIndexes(name, connection)
      try table.readKeys(name, connection)
      tables[name] = table
    }
  }

  /// Triggers of a file that is attached count as well, and which those are is not looked up.
  mutating func noteAttached(_ connection: Connection) throws {
    if try connection.hasAttachedFiles() { hasTriggers = true }
  }
}

extension AppObjects.Table {
  fileprivate mutating func readColumns(_ table: String, _ connection: Connection) throws {
    // cid, name, type, notnull, dflt_value, pk, hidden
    let query = try SQLStatement(connection, pragma: "table_xinfo", of: table)
    while try query.step() {
      let name = query.text(1) ?? ""
      columns.append(name)
      if query.int(3) == 1, !query.isNull(4), let value = query.text(4) {
        defaults[name] = "(\(value))"
      }
      if query.int(6) == 2 { traits.insert(.virtualColumn) }
    }
  }

  fileprivate mutating func readConflictClauses(_ table: String, _ query: SQLStatement) throws {
    query.bind(1, table)
    defer { query.reset() }
    guard try query.step(), let sql = query.text(0) else { return }
    let words = sql.lowercased().split { !$0.isLetter }
    if zip(words, words.dropFirst()).contains(where: { $0 == "on" && $1 == "conflict" }) {
      traits.insert(.conflictClause)
    }
  }

  fileprivate mutating func readIndexes(_ table: String, _ connection: Connection) throws {
    // seq, name, unique, origin, partial
    let list = try SQLStatement(connection, pragma: "index_list", of: table)
    var indexes: [(name: String, isUnique: Bool, isPartial: Bool)] = []
    while try list.step() {
      guard list.text(3) != "pk" else { continue }
      if let name = list.text(1) { indexes.append((name, list.int(2) == 1, list.int(4) == 1)) }
    }
    for index in indexes.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
      let columns = try columns(ofIndex: index.name, connection)
      if columns == nil { traits.insert(.expressionIndex) }
      guard index.isUnique else { continue }
      if index.isPartial || columns.map(AppObjects.hasBuiltInCollations) != true { traits.insert(.opaqueUniqueIndex) }
      guard let columns else { continue }
      if index.isPartial { partialIndexes.append(columns) } else { wholeIndexes.append(columns) }
    }
  }

  fileprivate mutating func readKeys(_ table: String, _ connection: Connection) throws {
    // id, seq, table, from, to, on_update, on_delete, match
    let list = try SQLStatement(connection, pragma: "foreign_key_list", of: table)
    var keys = Set<Int>()
    while try list.step() {
      keys.insert(list.int(0))
      guard list.isNull(4) || list.text(4)?.lowercased() == "id" else { continue }
      checkedColumns[list.text(3) ?? ""] = list.text(2) ?? ""
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
      traits.insert(.immediateKey)
    }
  }

  private static func deferredKeys(in sql: String) -> Int {
    let words = sql.lowercased().split { !$0.isLetter }.map(String.init)
    return words.indices.count { index in
      words[index...].starts(with: ["deferrable", "initially", "deferred"]) && (index == 0 || words[index - 1] != "not")
    }
  }

  /// - Returns: nil for an index on an expression, or on what the store writes in place.
  private func columns(ofIndex name: String, _ connection: Connection) throws -> AppObjects.UniqueIndex? {
    // seqno, cid, name, desc, coll, key
    let query = try SQLStatement(connection, pragma: "index_xinfo", of: name)
    var index: AppObjects.UniqueIndex = []
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
