import CTallySQLite
import GRDB
import GRDBSQLite
import Synchronization

/// SQL that looks a row of one table up by a key, in two forms with the same columns. Made when it is prepared: a
/// schema has more of them than most transactions need.
package final class KeyedSQL: Sendable {
  /// The key of a row.
  enum Key {
    /// The table's row number, perhaps under a name of its own.
    case number(String)
    /// A text of which the table's first constraint sees to it that it is unique, besides what `where` says.
    case text(String, where: String = "")
  }

  private let columns: String
  private let table: String
  private let key: Key
  /// Which of all that were made it is: those of one table follow each other.
  let number: Int
  private static let count = Atomic(0)

  /// - Parameters:
  ///   - columns: of the table's alias `r`. The first is null in no row.
  ///   - table: the table's name.
  ///   - key: the key's column.
  init(_ columns: String, of table: String, by key: Key) {
    (self.columns, self.table, self.key) = (columns, table, key)
    number = Self.count.wrappingAdd(1, ordering: .relaxed).newValue
  }

  /// Binds one key.
  var single: String {
    switch key {
    case .number(let column): "SELECT \(columns) FROM main.\"\(table)\" AS r WHERE r.\(column) = ?"
    case .text(let column, let condition):
      "SELECT \(columns) FROM main.\"\(table)\" AS r WHERE \(condition)r.\(column) = ?"
    }
  }

  /// Asks for one key after the other as it runs; all columns are null where a key has no row.
  ///
  /// It says which index finds the row, and cannot be prepared where that is not there, as in a table that a tool has
  /// rebuilt. SQLite might make one for the statement, which would not see what is written after.
  fileprivate var running: String {
    let source = "SELECT \(columns) FROM tally_key(?) LEFT JOIN main.\"\(table)\" AS r"
    return switch key {
    case .number(let column): "\(source) NOT INDEXED ON r.\(column) = tally_key"
    case .text(let column, let condition):
      "\(source) INDEXED BY \"sqlite_autoindex_\(table)_1\" ON \(condition)r.\(column) = tally_key"
    }
  }
}

/// Looks many rows up by key with one statement that is not reset between two of them.
///
/// Binding, starting and resetting a statement, with all that it opens and allocates, costs more than finding the row.
/// Each look is one step, and finds what the connection has written before it. As long as the statement runs the
/// connection keeps its lock for reading, so it must end before the transaction does: see `Connection.lookingUp(_:)`.
final class RowFinder {
  enum Found {
    /// The row is where the query is, until the next look.
    case row(SQLStatement)
    case nothing
    /// SQLite has no way to the row that such a statement could go.
    case unknown
  }

  private let sql: KeyedSQL
  private let database: OpaquePointer
  private let key = UnsafeMutablePointer<tally_key>.allocate(capacity: 1)
  /// The text that is looked for. SQLite may compare it once more at the next look.
  private var text = UnsafeMutableRawBufferPointer.allocate(byteCount: 256, alignment: 1)
  private var statement: SQLStatement?
  private(set) var isRunning = false
  /// The scope that has last looked for a row.
  private var scope = 0
  /// Whether rows are to be looked for one by one. SQLite would read the whole table for each key, as it plans if it
  /// takes the table for all but empty, or lacks the index.
  private var isUnable = false

  init(_ sql: KeyedSQL, _ database: OpaquePointer) {
    (self.sql, self.database) = (sql, database)
    key.initialize(to: tally_key())
  }

  deinit {
    statement = nil
    key.deallocate()
    text.deallocate()
  }

  /// Gives a connection what the statements need.
  static func register(_ database: OpaquePointer) throws {
    guard tally_key_register(database) == SQLITE_OK else { throw DatabaseError(database, sql: nil) }
  }

  /// Whether a row should be looked for by itself. So is the first of a scope, which may be the only one.
  func looksAlone(in scope: Int) -> Bool {
    if self.scope == scope { return isUnable }
    self.scope = scope
    return true
  }

  /// Looks for the row with this key.
  func find(_ number: Int, _ prepare: (String) throws -> SQLStatement) throws -> Found {
    (key.pointee.number, key.pointee.text) = (Int64(number), nil)
    return try find(prepare)
  }

  func find(_ name: UnsafeBufferPointer<UInt8>, _ prepare: (String) throws -> SQLStatement) throws -> Found {
    if text.count < name.count {
      end()
      text.deallocate()
      text = .allocate(byteCount: name.count, alignment: 1)
    }
    text.copyMemory(from: UnsafeRawBufferPointer(name))
    key.pointee.text = UnsafePointer(text.baseAddress?.assumingMemoryBound(to: CChar.self))
    key.pointee.count = Int32(name.count)
    return try find(prepare)
  }

  private func find(_ prepare: (String) throws -> SQLStatement) throws -> Found {
    let isNew = !isRunning
    do {
      let query = try statement ?? prepare(sql.running)
      statement = query
      if isNew { tally_key_bind(query.handle, 1, key) }
      isRunning = true
      guard tally_key_find(query.handle, key) == SQLITE_ROW else { throw DatabaseError(database, sql: sql.running) }
      if key.pointee.scans != 0 { isUnable = true }
      return query.isNull(0) ? .nothing : .row(query)
    } catch let error as DatabaseError where isNew && error.resultCode == .SQLITE_ERROR {
      // The table has changed, or it is gone: who looks alone learns which.
      end()
      isUnable = true
      return .unknown
    } catch {
      end()
      throw error
    }
  }

  /// Ends the statement.
  func end() {
    isRunning = false
    statement?.reset()
  }
}
