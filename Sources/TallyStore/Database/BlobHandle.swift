import GRDB
import GRDBSQLite
import TallyCRDT

/// SQLite's incremental blob I/O on one column of one table: reads and overwrites what a row has there, in place.
///
/// On the clocks in the app's tables an UPDATE would do the same but fire the app's triggers once more for a change
/// that the app did not make; this fires none (https://www.sqlite.org/c3ref/blob_open.html). On the store's own bodies
/// it costs one search where reading and updating cost two, and no statement.
final class BlobHandle {
  @exclusivity(unchecked) private var blob: OpaquePointer?
  private let connection: OpaquePointer
  private let table: String
  private let column: String
  /// The number of the row that is open; nil if none is.
  @exclusivity(unchecked) private(set) var row: Int?

  init(_ connection: OpaquePointer, table: String, column: String) {
    (self.connection, self.table, self.column) = (connection, table, column)
  }

  deinit { sqlite3_blob_close(blob) }

  /// Moves to a row. Opening costs as much as a few searches, moving on as one.
  /// - Throws: `DatabaseError` if there is no such row, or no blob in it.
  func seek(_ row: Int) throws {
    self.row = nil
    if let blob, sqlite3_blob_reopen(blob, Int64(row)) != SQLITE_OK {
      let error = DatabaseError(connection, sql: nil)
      close()
      // An error that has rolled the transaction back, as an interruption does: what is opened now would be of none.
      guard sqlite3_get_autocommit(connection) == 0 else { throw error }
    }
    if blob == nil, sqlite3_blob_open(connection, "main", table, column, Int64(row), 1, &blob) != SQLITE_OK {
      let error = DatabaseError(connection, sql: nil)
      close()
      throw error
    }
    self.row = row
  }

  /// Moves to a row.
  /// - Returns: false if what the row has is no blob, or is the default of a column that came after it.
  /// - Throws: `DatabaseError` if there is no such row.
  func seek(toBlobIn row: Int) throws -> Bool {
    do {
      try seek(row)
      return true
    } catch let error as DatabaseError
      where error.resultCode == .SQLITE_ERROR && error.message?.hasPrefix("cannot open value of type") == true
    {
      return false
    }
  }

  private func close() {
    sqlite3_blob_close(blob)
    blob = nil
  }

  /// Calls `body` with what the row has.
  func read<T>(_ body: (UnsafeRawBufferPointer) throws -> T) throws -> T {
    let count = Int(sqlite3_blob_bytes(blob))
    return try withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) { buffer in
      guard sqlite3_blob_read(blob, buffer.baseAddress, Int32(count), 0) == SQLITE_OK else {
        throw DatabaseError(connection, sql: nil)
      }
      return try body(UnsafeRawBufferPointer(buffer))
    }
  }

  /// Overwrites what the row has.
  /// - Returns: false if that has another length, or if the row has been written otherwise since; it is left.
  func write(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
    guard row != nil, Int(sqlite3_blob_bytes(blob)) == bytes.count else { return false }
    switch sqlite3_blob_write(blob, bytes.baseAddress, Int32(bytes.count), 0) {
    case SQLITE_OK: return true
    case SQLITE_ABORT where sqlite3_get_autocommit(connection) == 0:
      close()
      row = nil
      return false
    default: throw DatabaseError(connection, sql: nil)
    }
  }
}
