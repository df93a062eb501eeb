import GRDB
import TallyCRDT
import TallyStore

/// Reads the rows of a table around what is damaged in it.
final class TolerantReading {
  private let connection: Connection
  /// The faults: descriptions of what could not be read.
  private(set) var faults: [String] = []
  /// The number of faults in one table around which reading continues, before the rest of the table is given up.
  private static let budget = 2000
  private var rest = 0

  init(_ connection: Connection) { self.connection = connection }

  /// Reads the rows of a query. A row that cannot be read costs itself; if the first column does not find a row
  /// (`hasRowID`), it costs all rows after it as well.
  func read(_ table: String, _ sql: String, hasRowID: Bool, _ body: (SQLStatement) throws -> Void) {
    attempt(table) {
      guard hasRowID else { return try readAll(sql, body) }
      try readRows(table, sql, body)
    }
  }

  /// Does something to a table; an error is a fault of the table's.
  func attempt(_ table: String, _ body: () throws -> Void) {
    do {
      try body()
    } catch {
      note("\(table): \(Self.reason(error))")
    }
  }

  /// Reads rows by their number, which the first column is, and goes on behind what is damaged.
  /// - Throws: what the body throws that is no fault of the file.
  func readRows(_ table: String, _ sql: String, _ body: (SQLStatement) throws -> Void) throws {
    rest = Self.budget
    let column = sql.contains("SELECT n,") ? "n" : "rowid"
    var faulty = 0
    func readRow(_ query: SQLStatement) throws {
      do {
        try body(query)
      } catch let error as StoreError where error.code == .corrupt || error.code == .invalidName {
        faulty += 1
        note("\(table), row \(query.int(0)): \(error.message)")
      } catch let error as DatabaseError where error.isOfTheFile {
        // Of another table, which the row needs: `tally_extra`, `tally_context`.
        note("\(table), row \(query.int(0)): \(Self.reason(error))")
      } catch is RecordNameError {
        note("\(table), row \(query.int(0)): a name is malformed")
      }
    }
    var ranges: [(low: Int, high: Int)] = [(-(1 << 60), 1 << 60)]
    while let (low, high) = ranges.popLast() {
      guard low <= high else { continue }
      guard let fault = try read(sql, column, low, high, "", readRow) else { continue }
      rest -= 1
      guard rest > 0 else { return note("\(table): too much of it is damaged") }
      // From the other end, down to where it is damaged again.
      let from = fault.last.map { $0 + 1 } ?? low
      guard from <= high else { continue }
      guard let other = try read(sql, column, from, high, " DESC", readRow) else { continue }
      note("\(table): \(fault.reason)")
      let to = other.last.map { $0 - 1 } ?? high
      guard from < to else { continue }
      let middle = from / 2 + to / 2
      ranges.append((middle + 1, to))
      ranges.append((from, middle))
    }
  }

  /// Reads the rows of a table that is found by its primary key, a kind and the columns of `key`, from both ends up to
  /// what is damaged.
  /// - Throws: the body's errors, except those that the file's damage explains.
  func readKeyed(
    _ table: String, by key: [String] = ["key"], _ sql: String, _ body: (SQLStatement) throws -> Void
  ) throws {
    for order in ["", " DESC"] {
      let columns = (["kind"] + key).map { $0 + order }.joined(separator: ", ")
      let query: SQLStatement
      do {
        query = try SQLStatement(connection, "\(sql) ORDER BY \(columns)")
      } catch let error as DatabaseError {
        return note("\(table): \(Self.reason(error))")
      }
      do {
        while try query.step() {
          do {
            try body(query)
          } catch let error as StoreError where error.code == .corrupt || error.code == .invalidName {
            note("\(table): \(error.message)")
          }
        }
        return
      } catch let error as DatabaseError where error.isOfTheFile {
        note("\(table): \(Self.reason(error))")
      }
    }
  }

  private struct Fault {
    var last: Int?
    var reason: String
  }

  /// - Returns: where it broke off; nil if all was read.
  private func read(
    _ sql: String, _ column: String, _ low: Int, _ high: Int, _ order: String, _ body: (SQLStatement) throws -> Void
  ) throws -> Fault? {
    var last: Int?
    let query: SQLStatement
    do {
      query = try SQLStatement(
        connection, "\(sql) NOT INDEXED WHERE \(column) BETWEEN \(low) AND \(high) ORDER BY \(column)\(order)")
    } catch let error as DatabaseError {
      note(Self.reason(error))
      return nil
    }
    while true {
      do {
        guard try query.step() else { return nil }
      } catch let error as DatabaseError {
        return Fault(last: last, reason: Self.reason(error))
      }
      last = query.int(0)
      try body(query)
    }
  }

  private func readAll(_ sql: String, _ body: (SQLStatement) throws -> Void) throws {
    let query = try SQLStatement(connection, sql)
    while try query.step() { try body(query) }
  }

  private func note(_ fault: String) {
    if faults.count < 1000, !faults.contains(fault) { faults.append(fault) }
  }

  /// Whether SQLite can make something of a query of the file.
  func takes(_ sql: String) -> Bool { (try? SQLStatement(connection, sql)) != nil }

  private static func reason(_ error: any Error) -> String {
    (error as? DatabaseError)?.message ?? (error as? StoreError)?.message ?? "\(error)"
  }
}

extension DatabaseError {
  /// Whether the file is at fault: damaged, or without a table that a store has.
  fileprivate var isOfTheFile: Bool {
    [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR].contains(resultCode.primaryResultCode)
  }
}
