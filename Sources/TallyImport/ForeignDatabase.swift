import Foundation
import GRDB
import GRDBSQLite
import TallyCRDT
import TallyStore

/// The SQLite database that is imported. It is only read, and nothing is looked at that the map does not name.
struct ForeignDatabase {
  /// A column as it is declared.
  struct Column {
    var name: String
    var type: String
    /// Its place in the primary key, from 1; 0 if it is none of it.
    var keyPlace: Int
  }

  /// A reference as it is declared.
  struct ForeignKey {
    var column: String
    var table: String
    /// Nil for the primary key.
    var target: String?
  }

  private let db: Database
  private let handle: OpaquePointer
  /// The place of Core Data's files beside the database.
  let externalData: ExternalData
  /// The file itself, where no link leads on.
  let url: URL
  /// The file's name, for errors.
  let file: String
  /// The names of the tables and views, sorted.
  let tableNames: [String]

  /// Reads a database in one snapshot, waiting at most `patience` seconds for a lock. Fails with
  /// `StoreError.notADatabase` if there is none, or if it is a store of Tally's, and with `DatabaseError` if it is
  /// locked.
  static func read<T>(_ url: URL, patience: TimeInterval, _ body: (ForeignDatabase) throws -> T) throws -> T {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.label = "tally.import"
    configuration.busyMode = .timeout(patience)
    configuration.prepareDatabase { db in
      try db.execute(sql: "PRAGMA query_only = 1")
      // Two ids that give one key would be one record.
      db.add(function: DatabaseFunction("tally_key", argumentCount: 1, pure: true) { ForeignID.key(Value($0[0])) })
    }
    let url = url.resolvingSymlinksInPath()
    guard (try? url.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true else {
      throw StoreError(.notADatabase, "there is no file at \(url.path)")
    }
    let file = url.lastPathComponent
    let queue = try reading(file) { try DatabaseQueue(path: url.path, configuration: configuration) }
    return try queue.read { db in
      let source = try reading(file) {
        if try Int.fetchOne(db, sql: "PRAGMA application_id") == Format.applicationID {
          throw StoreError(.notADatabase, "\(file) is already a store; sync with it instead")
        }
        return try ForeignDatabase(db, url)
      }
      return try body(source)
    }
  }

  /// Runs what reads the imported file, and says so in its errors: the store has a file too.
  private static func reading<T>(_ file: String, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let error as DatabaseError {
      let reason: String
      switch error.resultCode.primaryResultCode {
      case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_INTERRUPT, .SQLITE_NOMEM: throw error
      case .SQLITE_NOTADB: reason = "is no SQLite database"
      case .SQLITE_READONLY, .SQLITE_CANTOPEN:
        reason =
          "cannot be read without writing beside it; copy it, with its -wal or -journal, to where that is possible"
      default: reason = "cannot be read: \(error.message ?? "")"
      }
      throw StoreError(.notADatabase, "\(file) \(reason)", cause: error)
    }
  }

  func reading<T>(_ body: () throws -> T) throws -> T { try Self.reading(file, body) }

  private init(_ db: Database, _ url: URL) throws {
    (self.db, self.url, file, externalData) = (db, url, url.lastPathComponent, ExternalData(of: url))
    handle = try db.handle()
    tableNames = try String.fetchAll(
      db,
      sql: """
        SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
        ORDER BY name
        """)
  }

  // MARK: Definitions

  /// The columns of a table, generated ones too; nil if there is no such table.
  func columns(of table: String) throws -> [Column]? {
    guard tableNames.contains(table) else { return nil }
    return try reading {
      try Row.fetchAll(
        db, sql: "SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden <> 1", arguments: [table]
      )
      .map { Column(name: $0[0], type: $0[1], keyPlace: $0[2]) }
    }
  }

  /// The references of a table that consist of one column.
  func foreignKeys(of table: String) throws -> [ForeignKey] {
    try reading {
      try Row.fetchAll(
        db,
        sql: """
          SELECT min("from"), "table", min("to") FROM pragma_foreign_key_list(?) GROUP BY id HAVING count(*) = 1
          ORDER BY id
          """, arguments: [table]
      ).map { ForeignKey(column: $0[0], table: $0[1], target: $0[2]) }
    }
  }

  /// Core Data's entities; nil if Core Data did not make the file.
  func coreDataEntities() throws -> CoreDataEntities? {
    let names = try columns(of: "Z_PRIMARYKEY")?.map(\.name) ?? []
    guard Set(names).isSuperset(of: ["Z_NAME", "Z_ENT", "Z_SUPER"]) else { return nil }
    let rows = try reading {
      try Row.fetchAll(db, sql: "SELECT Z_NAME, Z_ENT, Z_SUPER FROM Z_PRIMARYKEY WHERE Z_NAME NOT NULL")
        .map { (name: $0[0] as String, number: $0[1] as Int? ?? 0, parent: $0[2] as Int? ?? 0) }
    }
    return CoreDataEntities(rows, tables: tableNames)
  }

  /// The names of the tables that hold rows of an app's: no views, no virtual tables, and none of those in which a
  /// virtual table keeps its content.
  func ordinaryTables() throws -> [String] {
    let tables = try reading {
      try Row.fetchAll(
        db,
        sql: """
          SELECT name, sql LIKE 'CREATE VIRTUAL TABLE%' FROM sqlite_master
          WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name
          """
      ).map { (name: $0[0] as String, isVirtual: $0[1] as Bool? ?? false) }
    }
    let virtual = tables.filter(\.isVirtual).map { "\($0.name)_" }
    return tables.filter { table in !table.isVirtual && !virtual.contains { table.name.hasPrefix($0) } }.map(\.name)
  }

  // MARK: SQL

  static func quote(_ name: String) -> String { "\"\(name.replacingOccurrences(of: "\"", with: "\"\""))\"" }

  /// Checks that there is a table, and returns its name for SQL.
  func quoted(table: String) throws -> String {
    guard tableNames.contains(table) else {
      throw StoreError(
        .invalidMap,
        "there is no table \(printable(table)); the tables are \(tableNames.prefix(20).joined(separator: ", "))")
    }
    return Self.quote(table)
  }

  /// The SQL of a column of a table that is called `t` in the query.
  func sql(_ column: ImportColumn, of table: String) throws -> String {
    switch column.expression {
    case .sql(let sql):
      let expression = "(\(sql)\n)"
      try check("SELECT \(expression) FROM \(try quoted(table: table)) AS t", table)
      return expression
    case .column(let name):
      // SQLite would take an unknown name in double quotes as a text.
      let names = try columns(of: table)?.map(\.name) ?? []
      guard names.contains(where: { $0.caseInsensitiveCompare(name) == .orderedSame }) else {
        let list = names.sorted().prefix(30).joined(separator: ", ")
        throw StoreError(.invalidMap, "\(table) has no column \(printable(name)); the columns are \(list)")
      }
      return "t.\(Self.quote(name))"
    }
  }

  /// The SQL of a condition on a table that is called `t` in the query.
  func sql(condition: String?, of table: String) throws -> String {
    guard let condition else { return "1" }
    let expression = "(\(condition)\n)"
    try check("SELECT \(expression) FROM \(try quoted(table: table)) AS t", table)
    return expression
  }

  /// Checks that an expression of the map's is one expression, and asks for no parameter.
  private func check(_ sql: String, _ table: String) throws {
    do {
      let statement = try db.makeStatement(sql: sql)
      guard statement.columnCount == 1, sqlite3_bind_parameter_count(statement.sqliteStatement) == 0 else {
        throw StoreError(.invalidMap, "\(table): an expression is not one value without parameters")
      }
    } catch let error as DatabaseError where [.SQLITE_ERROR, .SQLITE_MISUSE].contains(error.resultCode) {
      throw StoreError(.invalidMap, "\(table): \(error.message ?? "SQLite refuses an expression")", cause: error)
    }
  }

  /// The SQL of the key of a table's rows.
  func key(of table: ImportMap.Table) throws -> String {
    if let key = table.key { return try sql(key, of: table.from) }
    let columns = try columns(of: table.from) ?? []
    let primary = columns.filter { $0.keyPlace > 0 }
    if primary.count == 1 { return "t.\(Self.quote(primary[0].name))" }
    let isTable = try String.fetchOne(
      db, sql: "SELECT type FROM sqlite_master WHERE name = ? AND type IN ('table', 'view')", arguments: [table.from])
    if primary.isEmpty, isTable == "table" {
      // A column of this name would hide the row's number.
      let names = Set(columns.map { $0.name.lowercased() })
      if let free = ["rowid", "oid", "_rowid_"].first(where: { !names.contains($0) }) { return "t.\(free)" }
    }
    throw StoreError(
      .invalidMap, "\(table.from) has no key of one column; \"key\" must say what references refer to")
  }

  /// Prepares a query.
  func statement(_ sql: String) throws -> SQLStatement { try reading { try SQLStatement(handle, sql) } }

  /// Whether a query finds a row.
  func exists(_ sql: String, of table: String) throws -> Bool {
    try evaluating(table) {
      let query = try SQLStatement(handle, sql)
      defer { query.reset() }
      return try query.step()
    }
  }

  /// Whether a column of the rows of a query has texts that may be paths of files, since they name no assets.
  func hasPaths(_ column: ImportColumn, _ rest: String, of table: String) throws -> Bool {
    let sql = try sql(column, of: table)
    return try exists(
      "SELECT 1 \(rest) AND typeof(\(sql)) = 'text' AND \(sql) <> '' AND \(sql) NOT GLOB 'sha256-*' LIMIT 1", of: table)
  }

  /// Runs a query of the map's expressions for rows of numbers; null is 0.
  func numbers(_ sql: String, of table: String) throws -> [[Int]] {
    try evaluating(table) {
      let query = try SQLStatement(handle, sql)
      defer { query.reset() }
      var rows: [[Int]] = []
      while try query.step() { rows.append((0..<query.columnCount).map { query.int($0) }) }
      return rows
    }
  }

  /// Runs a query of the map's expressions for its first number.
  func number(_ sql: String, of table: String) throws -> Int {
    try evaluating(table) {
      let query = try SQLStatement(handle, sql)
      defer { query.reset() }
      return try query.step() ? query.int(0) : 0
    }
  }

  /// Runs what evaluates expressions of the map's: what fails in them is no fault of the file.
  func evaluating<T>(_ table: String, _ body: () throws -> T) throws -> T {
    try reading {
      do {
        return try body()
      } catch let error as DatabaseError where error.resultCode.primaryResultCode == .SQLITE_ERROR {
        throw StoreError(.invalidMap, "\(table): \(error.message ?? "an expression fails")", cause: error)
      }
    }
  }
}
