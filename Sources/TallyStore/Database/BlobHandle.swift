import GRDB
import GRDBSQLite
import TallyCRDT

/// SQLite's incremental blob I/O on the `tally_clock` column of one table: it overwrites the clock of a row in place.
///
/// An UPDATE would do the same but fire the app's triggers once more for a change that the app did not make; this fires
/// none (https://www.sqlite.org/c3ref/blob_open.html).
final class BlobHandle {
  private var blob: OpaquePointer?
  private let connection: OpaquePointer
  private let table: String

  init(_ connection: OpaquePointer, table: String) {
    self.connection = connection
    self.table = table
  }

  deinit { sqlite3_blob_close(blob) }

  /// Overwrites the clock of a row.
  /// - Returns: false if there is something of another length, which somebody wrote there; it is left.
  func write(_ clock: InlineClock, row: Int) throws -> Bool {
    if let blob {
      if sqlite3_blob_reopen(blob, Int64(row)) != SQLITE_OK {
        sqlite3_blob_close(blob)
        self.blob = nil
      }
    }
    if blob == nil, sqlite3_blob_open(connection, "main", table, "tally_clock", Int64(row), 1, &blob) != SQLITE_OK {
      let error = DatabaseError(connection, sql: nil)
      sqlite3_blob_close(blob)
      blob = nil
      throw error
    }
    guard sqlite3_blob_bytes(blob) == InlineClock.size else { return false }
    let status = clock.withBytes { sqlite3_blob_write(blob, $0.baseAddress, Int32($0.count), 0) }
    guard status == SQLITE_OK else { throw DatabaseError(connection, sql: nil) }
    return true
  }
}
