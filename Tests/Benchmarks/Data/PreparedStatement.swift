import GRDB
import GRDBSQLite

/// A statement of SQLite's own C API.
final class PreparedStatement {
  private let handle: OpaquePointer
  /// Whether the statement ends with this object. Else the connection keeps it for the next transaction.
  private let isOwned: Bool
  // SQLITE_TRANSIENT, "a special value that tells SQLite to make its own copy" (sqlite.org/c3ref/c_static.html).
  private static let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

  init(_ db: Database, _ sql: String) throws {
    var handle: OpaquePointer?
    guard sqlite3_prepare_v2(db.sqliteConnection, sql, -1, &handle, nil) == SQLITE_OK, let handle else {
      throw Mistake("SQLite does not prepare: \(sql)")
    }
    self.handle = handle
    isOwned = true
  }

  /// The statement that this connection has prepared before, as an app keeps those that it runs often. GRDB keeps it,
  /// and finalizes it when the connection is closed.
  init(keptBy db: Database, _ sql: String) throws {
    handle = try db.cachedStatement(sql: sql).sqliteStatement
    isOwned = false
  }

  deinit {
    if isOwned { sqlite3_finalize(handle) } else { sqlite3_reset(handle) }
  }

  func bind(_ index: Int32, _ value: Int) { sqlite3_bind_int64(handle, index, Int64(value)) }
  func bind(_ index: Int32, _ value: Double) { sqlite3_bind_double(handle, index, value) }

  func bind(_ index: Int32, _ value: String) {
    var value = value
    value.withUTF8 { text in
      let start = UnsafeRawPointer(text.baseAddress)?.assumingMemoryBound(to: CChar.self)
      _ = sqlite3_bind_text(handle, index, start, Int32(text.count), Self.copies)
    }
  }

  /// Moves to the next row; false at the end.
  func step() throws -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw Mistake("SQLite does not run a statement")
    }
  }

  func integer(_ column: Int32) -> Int { Int(sqlite3_column_int64(handle, column)) }
  func real(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

  func text(_ column: Int32) -> String {
    let text = UnsafeBufferPointer(
      start: sqlite3_column_text(handle, column), count: Int(sqlite3_column_bytes(handle, column)))
    return String(decoding: text, as: UTF8.self)
  }

  func run() throws {
    guard sqlite3_step(handle) == SQLITE_DONE else { throw Mistake("SQLite does not run a statement") }
    sqlite3_reset(handle)
  }
}
