import GRDB
import GRDBSQLite
import TallyCRDT

/// A prepared statement on SQLite's own interface, for the paths where GRDB's records would cost more than the work.
package final class SQLStatement {
  package let handle: OpaquePointer
  private let database: OpaquePointer
  /// GRDB's statement, if it is borrowed from there.
  private let owner: Statement?

  package init(_ database: OpaquePointer, _ sql: String) throws {
    var handle: OpaquePointer?
    let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
    guard sqlite3_prepare_v3(database, sql, -1, flags, &handle, nil) == SQLITE_OK, let handle else {
      throw DatabaseError(database, sql: sql)
    }
    self.handle = handle
    self.database = database
    owner = nil
  }

  /// A statement of its own, for what is asked once or may be asked again meanwhile.
  package convenience init(_ connection: Connection, _ sql: String) throws {
    try connection.forgetRegions()
    try self.init(connection.handle, sql)
  }

  /// A PRAGMA of the main file that lists something of a table or an index. As a table-valued function it would cost
  /// ten times as much to prepare.
  convenience init(_ connection: Connection, pragma: String, of object: String) throws {
    let name = object.replacing("\"", with: "\"\"")
    try self.init(connection, "PRAGMA main.\(pragma)(\"\(name)\")")
  }

  /// A statement out of GRDB's cache for the connection. It is reset when this object goes.
  init(borrowing statement: Statement, of database: OpaquePointer) {
    handle = statement.sqliteStatement
    owner = statement
    self.database = database
  }

  deinit {
    if owner == nil {
      sqlite3_finalize(handle)
    } else {
      sqlite3_reset(handle)
      sqlite3_clear_bindings(handle)
    }
  }

  // MARK: Binding, from 1

  package func bind(_ index: Int, _ number: Int64) { sqlite3_bind_int64(handle, Int32(index), number) }
  package func bind(_ index: Int, _ number: Int) { sqlite3_bind_int64(handle, Int32(index), Int64(number)) }
  package func bindNull(_ index: Int) { sqlite3_bind_null(handle, Int32(index)) }

  package func bind(_ index: Int, _ text: String) {
    var text = text
    text.withUTF8 { bytes in
      let base = UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
      _ =
        base.map { sqlite3_bind_text(handle, Int32(index), $0, Int32(bytes.count), Self.transient) }
        ?? sqlite3_bind_text(handle, Int32(index), "", 0, Self.transient)
    }
  }

  package func bind(_ index: Int, _ bytes: [UInt8]) {
    bytes.withUnsafeBytes { raw in
      if raw.isEmpty { sqlite3_bind_zeroblob(handle, Int32(index), 0) } else { bind(index, copying: raw) }
    }
  }

  /// Binds a blob that is not empty.
  func bind(_ index: Int, copying blob: UnsafeRawBufferPointer) {
    sqlite3_bind_blob(handle, Int32(index), blob.baseAddress, Int32(blob.count), Self.transient)
  }

  /// Binds a text that stays where it is until `clearBindings()`.
  func bindInPlace(_ index: Int, text: UnsafeBufferPointer<UInt8>) {
    let base = UnsafeRawPointer(text.baseAddress)?.assumingMemoryBound(to: CChar.self)
    guard let base else { return bind(index, "") }
    sqlite3_bind_text(handle, Int32(index), base, Int32(text.count), nil)
  }

  /// Binds a blob that stays where it is until `clearBindings()`.
  func bindInPlace(_ index: Int, blob: UnsafeRawBufferPointer) {
    guard !blob.isEmpty else { return bind(index, []) }
    sqlite3_bind_blob(handle, Int32(index), blob.baseAddress, Int32(blob.count), nil)
  }

  /// Runs it with a blob as its only parameter, which SQLite need not copy.
  func run(withBlob blob: [UInt8]) throws {
    try blob.withUnsafeBytes { raw in
      bindInPlace(1, blob: raw)
      defer { clearBindings() }
      try run()
    }
  }

  /// Sets all parameters to null.
  func clearBindings() { sqlite3_clear_bindings(handle) }

  package func bind(_ index: Int, _ value: Value) {
    switch value {
    case .null: bindNull(index)
    case .integer(let number): bind(index, number)
    case .real(let number): sqlite3_bind_double(handle, Int32(index), number)
    case .text(let text): bind(index, text)
    case .blob(let bytes): bind(index, bytes)
    }
  }

  private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

  // MARK: Running

  /// Moves to the next row; false at the end, when the statement is reset for its next use.
  package func step() throws -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE:
      sqlite3_reset(handle)
      return false
    default:
      let error = DatabaseError(database, sql: String(cString: sqlite3_sql(handle)))
      sqlite3_reset(handle)
      throw error
    }
  }

  /// Runs a statement that returns no rows.
  package func run() throws { while try step() {} }

  /// Ends a query before its last row.
  package func reset() { sqlite3_reset(handle) }

  // MARK: Columns, from 0

  package func int(_ column: Int) -> Int { Int(sqlite3_column_int64(handle, Int32(column))) }

  /// The sequence of a dot.
  /// - Throws: `StoreError.corrupt` for a negative number.
  package func sequence(_ column: Int) throws(StoreError) -> UInt64 {
    guard let sequence = UInt64(exactly: int(column)) else { throw StoreError(.corrupt, "a sequence is negative") }
    return sequence
  }

  package func int64(_ column: Int) -> Int64 { sqlite3_column_int64(handle, Int32(column)) }
  func double(_ column: Int) -> Double { sqlite3_column_double(handle, Int32(column)) }

  /// SQLite's number for the type of a column's value.
  func type(_ column: Int) -> Int32 { sqlite3_column_type(handle, Int32(column)) }

  package func isText(_ column: Int) -> Bool { type(column) == SQLITE_TEXT }

  /// The bytes of a text or blob; 8 for anything else, which SQLite would turn into a text to count them.
  package func byteCount(_ column: Int) -> Int {
    switch type(column) {
    case SQLITE_TEXT, SQLITE_BLOB: Int(sqlite3_column_bytes(handle, Int32(column)))
    default: 8
    }
  }

  /// Calls `body` with the bytes of a text, which are gone afterwards.
  func withBytes<T>(ofText column: Int, _ body: (UnsafeBufferPointer<UInt8>) throws -> T) rethrows -> T {
    let base = sqlite3_column_text(handle, Int32(column))
    let count = base == nil ? 0 : Int(sqlite3_column_bytes(handle, Int32(column)))
    return try body(UnsafeBufferPointer(start: base, count: count))
  }

  /// Whether a column holds this text.
  func hasText(_ column: Int, _ text: String) -> Bool {
    var text = text
    return text.withUTF8 { hasText(column, $0) }
  }

  func hasText(_ column: Int, _ text: UnsafeBufferPointer<UInt8>) -> Bool {
    withBytes(ofText: column) { $0.hasSameBytes(as: text) }
  }

  /// The hash of a text.
  func hash(ofText column: Int) -> UInt64 {
    withBytes(ofText: column) { SipHash13.hash(UnsafeRawBufferPointer($0)) }
  }

  func isNull(_ column: Int) -> Bool { sqlite3_column_type(handle, Int32(column)) == SQLITE_NULL }

  package func blob(_ column: Int) -> [UInt8] {
    guard let base = sqlite3_column_blob(handle, Int32(column)) else { return [] }
    return Array(UnsafeRawBufferPointer(start: base, count: Int(sqlite3_column_bytes(handle, Int32(column)))))
  }

  /// Calls `body` with the bytes of a column, which are gone afterwards.
  package func withBlob<T>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
    let base = sqlite3_column_blob(handle, Int32(column))
    let count = Int(sqlite3_column_bytes(handle, Int32(column)))
    return try body(UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : count))
  }

  /// The text of a column; nil for text that is not UTF-8.
  package func text(_ column: Int) -> String? {
    withBytes(ofText: column) { String(valid: $0) }
  }

  package var columnCount: Int { Int(sqlite3_column_count(handle)) }

  /// The values of adjacent columns.
  package func values(_ columns: Range<Int>) -> [Value] { columns.map { value($0) } }

  /// The value of a column. Text that is not UTF-8 comes as its bytes, which no text column accepts.
  package func value(_ column: Int) -> Value {
    switch sqlite3_column_type(handle, Int32(column)) {
    case SQLITE_INTEGER: return .integer(sqlite3_column_int64(handle, Int32(column)))
    case SQLITE_FLOAT: return Value(real: sqlite3_column_double(handle, Int32(column)))
    case SQLITE_TEXT: return text(column).map(Value.text) ?? .blob(blob(column))
    case SQLITE_BLOB: return .blob(blob(column))
    default: return .null
    }
  }
}

extension String {
  /// The text of some bytes; nil if they are not UTF-8.
  init?(valid bytes: UnsafeBufferPointer<UInt8>) {
    // What is only ASCII needs no second look, and most texts are.
    if bytes.isASCII {
      self = String(decoding: bytes, as: UTF8.self)
    } else {
      self.init(validating: bytes, as: UTF8.self)
    }
  }
}

extension DatabaseError {
  init(_ database: OpaquePointer, sql: String?) {
    self.init(
      resultCode: ResultCode(rawValue: sqlite3_extended_errcode(database)),
      message: String(cString: sqlite3_errmsg(database)), sql: sql)
  }
}

/// A value for a parameter of a statement: see `Connection.run`.
protocol SQLBindable {
  func bind(to statement: SQLStatement, _ index: Int)
}

extension Int: SQLBindable {
  func bind(to statement: SQLStatement, _ index: Int) { statement.bind(index, self) }
}
extension String: SQLBindable {
  func bind(to statement: SQLStatement, _ index: Int) { statement.bind(index, self) }
}
extension [UInt8]: SQLBindable {
  func bind(to statement: SQLStatement, _ index: Int) { statement.bind(index, self) }
}
extension Value: SQLBindable {
  func bind(to statement: SQLStatement, _ index: Int) { statement.bind(index, self) }
}
extension Optional: SQLBindable where Wrapped: SQLBindable {
  func bind(to statement: SQLStatement, _ index: Int) {
    if let self { self.bind(to: statement, index) } else { statement.bindNull(index) }
  }
}
