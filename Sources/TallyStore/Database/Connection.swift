import GRDB
import GRDBSQLite

/// SQL for the rows of one table. Its identity finds the statement, which is faster than its text. The text is made
/// when it is prepared: a schema has more of them than most transactions need.
package final class RowSQL: Sendable {
  private let make: @Sendable () -> String
  package var text: String { make() }

  init(_ text: @autoclosure @escaping @Sendable () -> String) { make = text }

  /// The same INSERT or UPDATE, which fails at a conflict even if the table says otherwise.
  var aborting: String {
    let verb = text.prefix { $0 != " " }
    return "\(verb) OR ABORT\(text.dropFirst(verb.count))"
  }
}

/// One SQLite connection with its prepared statements. Confined to where the connection may be used.
package final class Connection {
  package let handle: OpaquePointer
  /// By the addresses of their SQL.
  private var statements: [UnsafeRawPointer: SQLStatement] = [:]
  private var rowStatements: [UnsafeRawPointer: (sql: AnyObject, statement: SQLStatement)] = [:]
  /// Those of the two that were wanted last, each where its address says: most are wanted again at once.
  @exclusivity(unchecked)
  private var recent = [(address: UnsafeRawPointer, statement: SQLStatement)?](repeating: nil, count: recentCount)
  private static let recentCount = 64
  private var rareStatements: [String: SQLStatement] = [:]
  private let database: Database?
  /// GRDB's connection, whose statements are its own.
  private unowned let host: Database?
  /// Statements that run from one look to the next, by the addresses of their SQL, and those that were wanted last.
  private var finders: [UnsafeRawPointer: (sql: KeyedSQL, finder: RowFinder)] = [:]
  @exclusivity(unchecked)
  private var recentFinders = [(address: UnsafeRawPointer, finder: RowFinder)?](repeating: nil, count: finderCount)
  private static let finderCount = 16
  private var running: [RowFinder] = []
  /// How many calls of `lookingUp` are under way, and how many there have been.
  private var lookups = (depth: 0, count: 0)
  /// The version of the catalog whose tables the statements are for.
  private var catalog: Int?
  /// The version of the file's content for which `ifChanged` has last succeeded.
  private var content: UInt32?

  package init(_ handle: OpaquePointer) {
    self.handle = handle
    (database, host) = (nil, nil)
  }

  /// For as long as GRDB's connection lives.
  init(on database: Database) throws {
    handle = try database.handle()
    (self.database, host) = (nil, database)
  }

  /// For one access of GRDB's to a connection that lives on: statements stay prepared there from one access to the
  /// next.
  init(_ database: Database) throws {
    handle = try database.handle()
    (self.database, host) = (database, nil)
  }

  /// The statement for this SQL, prepared once.
  package func statement(_ sql: StaticString) throws -> SQLStatement {
    let address = UnsafeRawPointer(sql.utf8Start)
    return try recent(address) {
      if let known = statements[address] { return known }
      let statement = try prepare(sql.withUTF8Buffer { String(decoding: $0, as: UTF8.self) })
      statements[address] = statement
      return statement
    }
  }

  /// The statement for the rows of a table, prepared once.
  func statement(_ sql: RowSQL) throws -> SQLStatement { try statement(sql, sql.text) }

  /// The statement that binds one key, prepared once.
  func statement(_ sql: KeyedSQL) throws -> SQLStatement { try statement(sql, sql.single) }

  @inline(__always)
  private func statement(_ sql: AnyObject, _ text: @autoclosure () -> String) throws -> SQLStatement {
    let address = UnsafeRawPointer(Unmanaged.passUnretained(sql).toOpaque())
    return try recent(address) {
      if let known = rowStatements[address] { return known.statement }
      let statement = try prepare(text())
      rowStatements[address] = (sql, statement)
      return statement
    }
  }

  private func recent(_ address: UnsafeRawPointer, _ find: () throws -> SQLStatement) rethrows -> SQLStatement {
    let place = Int(bitPattern: address) >> 4 & (Self.recentCount - 1)
    if let known = recent[place], known.address == address { return known.statement }
    let statement = try find()
    recent[place] = (address, statement)
    return statement
  }

  // MARK: Looking rows up

  /// Runs something that looks many rows up: `row` keeps its statements running meanwhile. Within one transaction,
  /// which may not end before, and nothing changes the schema.
  func lookingUp<T>(_ body: () throws -> T) rethrows -> T {
    // What GRDB keeps prepared for others is not left with a place in memory bound to it.
    guard database == nil else { return try body() }
    if lookups.depth == 0 { lookups.count += 1 }
    lookups.depth += 1
    defer {
      lookups.depth -= 1
      if lookups.depth == 0 { endFinding() }
    }
    return try body()
  }

  /// Calls `body` with a query at the row that has this number as its key. The query may be used until then only, and
  /// `body` may look for no other row with the same SQL.
  /// - Returns: what `body` returns; nil if there is no such row.
  @inline(__always)
  func row<T>(_ sql: KeyedSQL, _ number: Int, _ body: (SQLStatement) throws -> T) throws -> T? {
    switch try finder(sql)?.find(number, prepare) ?? .unknown {
    case .row(let query): return try body(query)
    case .nothing: return nil
    case .unknown:
      let query = try statement(sql)
      query.bind(1, number)
      defer { query.reset() }
      return try query.step() ? try body(query) : nil
    }
  }

  /// The same for a text, which has to stay where it is until then.
  @inline(__always)
  func row<T>(
    _ sql: KeyedSQL, _ text: UnsafeBufferPointer<UInt8>, _ body: (SQLStatement) throws -> T
  ) throws -> T? {
    switch try finder(sql)?.find(text, prepare) ?? .unknown {
    case .row(let query): return try body(query)
    case .nothing: return nil
    case .unknown:
      let query = try statement(sql)
      query.bindInPlace(1, text: text)
      defer {
        query.reset()
        query.clearBindings()
      }
      return try query.step() ? try body(query) : nil
    }
  }

  @inline(__always)
  func row<T>(_ sql: KeyedSQL, _ text: String, _ body: (SQLStatement) throws -> T) throws -> T? {
    var text = text
    return try text.withUTF8 { try row(sql, $0, body) }
  }

  /// The finder for the row; nil if it should be looked for by itself.
  private func finder(_ sql: KeyedSQL) -> RowFinder? {
    guard lookups.depth > 0 else { return nil }
    let address = UnsafeRawPointer(Unmanaged.passUnretained(sql).toOpaque())
    let place = sql.number & (Self.finderCount - 1)
    let finder: RowFinder
    if let known = recentFinders[place], known.address == address {
      finder = known.finder
    } else {
      finder = finders[address]?.finder ?? RowFinder(sql, handle)
      finders[address] = (sql, finder)
      recentFinders[place] = (address, finder)
    }
    guard !finder.looksAlone(in: lookups.count) else { return nil }
    if !finder.isRunning { running.append(finder) }
    return finder
  }

  private func endFinding() {
    guard !running.isEmpty else { return }
    for finder in running { finder.end() }
    running.removeAll(keepingCapacity: true)
  }

  /// The statement for SQL that is put together where it is used.
  func statement(text sql: String) throws -> SQLStatement {
    if let known = rareStatements[sql] { return known }
    let statement = try prepare(sql)
    rareStatements[sql] = statement
    return statement
  }

  private func prepare(_ sql: String) throws -> SQLStatement {
    guard let database else { return try SQLStatement(self, sql) }
    return SQLStatement(borrowing: try database.cachedStatement(sql: sql), of: handle)
  }

  /// Empties what GRDB's authorizer has gathered of what statements read. It goes on until one of GRDB's own is
  /// prepared, and each column takes it the longer the more it has: without this, what is asked of each table of a
  /// schema costs as the square of their number.
  func forgetRegions() throws {
    if let host = host ?? database { _ = try host.makeStatement(sql: "BEGIN") }
  }

  /// The statement for a loop, prepared once, but for a loop within another over the same SQL.
  func loop(_ sql: StaticString) throws -> SQLStatement {
    let known = try statement(sql)
    guard sqlite3_stmt_busy(known.handle) != 0 else { return known }
    return try SQLStatement(self, sql.withUTF8Buffer { String(decoding: $0, as: UTF8.self) })
  }

  /// Runs reads that all see the same state of the file.
  func inReadTransaction<T>(_ body: () throws -> T) throws -> T {
    try statement("BEGIN DEFERRED").run()
    do {
      let value = try body()
      try statement("COMMIT").run()
      return value
    } catch {
      // Some errors have ended it already.
      if isInTransaction { try execute("ROLLBACK") }
      throw error
    }
  }

  /// Does something if the file may have another content than the last time that this succeeded, by any connection's
  /// change. Within a transaction that has read already; a look costs a tenth of the smallest statement.
  func ifChanged(_ body: () throws -> Void) throws {
    var version: UInt32 = 0
    // https://sqlite.org/c3ref/c_fcntl_begin_atomic_write.html#sqlitefcntldataversion
    let isKnown = sqlite3_file_control(handle, nil, SQLITE_FCNTL_DATA_VERSION, &version) == SQLITE_OK
    guard !isKnown || content != version else { return }
    try body()
    content = isKnown ? version : nil
  }

  /// Calls `body` with the value of a key of `tally_meta`, in the first column. One statement for all keys: to prepare
  /// one for each costs more than everything else that is read where a store is opened.
  /// - Returns: nil if there is no such key.
  func meta<T>(_ key: String, _ body: (SQLStatement) throws -> T) throws -> T? {
    let query = try statement("SELECT value, key FROM tally_meta WHERE key = ?")
    query.bind(1, key)
    defer { query.reset() }
    // Where the disk has changed the order of keys, SQLite finds another one.
    return try query.step() && query.hasText(1, key) ? try body(query) : nil
  }

  /// Whether `tally_meta` has a key.
  func hasMeta(_ key: String) throws -> Bool { try meta(key) { _ in } != nil }

  /// Whether a table has a column; without a column, whether there is a table of that name. Costs no statement.
  func hasColumn(_ column: String?, _ table: String) -> Bool {
    sqlite3_table_column_metadata(handle, "main", table, column, nil, nil, nil, nil, nil) == SQLITE_OK
  }

  /// Runs a statement that gives no rows.
  func run(_ sql: StaticString, _ values: any SQLBindable...) throws {
    let statement = try statement(sql)
    for (index, value) in values.enumerated() { value.bind(to: statement, index + 1) }
    try statement.run()
  }

  package func execute(_ sql: String) throws {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw DatabaseError(handle, sql: sql) }
  }

  /// The number of rows that the last insert, update or delete changed.
  var changes: Int { Int(sqlite3_changes(handle)) }

  /// Whether a transaction is under way, also one that only reads. An error may have rolled it back.
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// The number of the row that the last insert made, without what triggers inserted.
  var lastInsertedRowID: Int { Int(sqlite3_last_insert_rowid(handle)) }

  /// The first column of the first row, or nil.
  package func integer(_ sql: StaticString) throws -> Int? {
    let query = try statement(sql)
    defer { query.reset() }
    return try query.step() ? query.int(0) : nil
  }

  package func integer(text sql: String) throws -> Int? {
    let query = try statement(text: sql)
    defer { query.reset() }
    return try query.step() ? query.int(0) : nil
  }

  package func exists(_ sql: StaticString) throws -> Bool { try integer(sql) != nil }

  /// Ends all reading, so that it holds no lock.
  func resetStatements() {
    endFinding()
    for statement in statements.values { statement.reset() }
    for (_, statement) in rowStatements.values { statement.reset() }
    for statement in rareStatements.values { statement.reset() }
  }

  /// Forgets statements for the tables of another catalog than the one in hand.
  func follow(_ catalog: Int) {
    guard self.catalog != catalog else { return }
    self.catalog = catalog
    forgetStatements()
  }

  /// Forgets the prepared statements, for instance after the schema changed.
  func forgetStatements() {
    recent = Array(repeating: nil, count: Self.recentCount)
    recentFinders = Array(repeating: nil, count: Self.finderCount)
    (finders, running) = ([:], [])
    statements = [:]
    rowStatements = [:]
    rareStatements = [:]
  }
}

extension Database {
  /// SQLite's connection.
  /// - Throws: `StoreError.closed` if it has none any more.
  package func handle() throws -> OpaquePointer {
    guard let sqliteConnection else { throw StoreError(.closed, "the store is closed") }
    return sqliteConnection
  }
}
