import GRDB
import GRDBSQLite
import TallyCRDT

/// The value of the SQL function `tally_applying()`: whether it is the store that writes, not the app.
final class Applying: @unchecked Sendable {
  // Read and written on the writing connection's queue alone.
  var isOn = true
  /// Counts the transactions of the same connection.
  let starts = TransactionStarts()
  /// Makes positions in ordered lists.
  let lists = ListKeys()
  /// The column that a call of the app's is setting.
  var setting: SetColumn?
  /// The time of what is captured, where that is not the clock's.
  var time: HybridTime?

  /// The place of the column that is being set in a row; nil if it is none, or has been taken.
  func takeSetting(of row: RowAddress) -> Int? {
    guard let setting, setting.row == row else { return nil }
    self.setting = nil
    return setting.place
  }

  /// What a connection keeps until it is closed, along with the function.
  private final class Holder {
    let applying: Applying
    let companion: AnyObject

    init(_ applying: Applying, _ companion: AnyObject) { (self.applying, self.companion) = (applying, companion) }
  }

  /// Adds the function to a connection, which keeps `companion` for as long as it is open. It reads and changes nothing
  /// else, so that triggers may call it also where an app does not trust its schema
  /// (https://sqlite.org/c3ref/c_deterministic.html#sqliteinnocuous). GRDB's functions cannot say so.
  func register(_ database: OpaquePointer, keeping companion: AnyObject) throws {
    let result = sqlite3_create_function_v2(
      database, "tally_applying", 0, SQLITE_UTF8 | SQLITE_INNOCUOUS,
      Unmanaged.passRetained(Holder(self, companion)).toOpaque(),
      { context, _, _ in
        guard let pointer = sqlite3_user_data(context) else { return sqlite3_result_null(context) }
        let holder = Unmanaged<Holder>.fromOpaque(pointer).takeUnretainedValue()
        sqlite3_result_int(context, holder.applying.isOn ? 1 : 0)
      }, nil, nil,
      { pointer in if let pointer { Unmanaged<Holder>.fromOpaque(pointer).release() } })
    guard result == SQLITE_OK else { throw DatabaseError(database, sql: nil) }
  }
}

/// A column that a call sets in a row: what was written there is captured as that, and not as a change.
struct SetColumn {
  let row: RowAddress
  let place: Int
}
