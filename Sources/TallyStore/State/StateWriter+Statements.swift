import GRDB
import TallyCRDT

extension StateWriter {
  /// A statement that writes a row of the app's. It fails at a conflict, also where the table would resolve that by
  /// itself: what REPLACE deletes would be gone without a delete. Elsewhere it does not say so, because a conflict
  /// clause is also that of what its triggers write.
  func rowStatement(_ sql: RowSQL, _ kind: KindNumber) throws -> SQLStatement {
    try prepared {
      guard reader.catalog.resolvesConflicts.contains(kind) else { return try connection.statement(sql) }
      return try connection.statement(text: sql.aborting)
    }
  }

  /// A statement on a row of the app's. Triggers that cannot be compiled make preparing it fail.
  func prepared(_ prepare: () throws -> SQLStatement) throws -> SQLStatement {
    do {
      return try prepare()
    } catch let error as DatabaseError where error.isRefusal(on: connection) {
      throw RowRefusal(error)
    }
  }

  /// Writes the clock of a row that the app has just inserted, where that is all there is to its state, with the values
  /// of older columns that newer ones give.
  /// - Returns: whether SQLite took them; otherwise nothing has changed.
  func adopt(
    _ row: RowID, _ kind: RecordKind, _ clock: InlineClock, _ older: [(place: Int, value: Value)]
  ) throws -> Bool {
    change()
    do { try update(kind, row: row, clock: clock, older) } catch is RowRefusal { return false }
    return true
  }

  // MARK: Set aside

  /// Notes that SQLite refuses a row, or that it takes it now.
  func note(_ refusal: SetAside.Entry?, _ address: RowAddress) throws {
    guard let refusal else {
      if !reader.aside.isEmpty { try reader.aside.remove(address, connection) }
      return
    }
    #if PlantedFaults
      if reader.planted.contains(.refusedRowDropped) { return }
    #endif
    try reader.aside.insert(address, refusal, connection)
  }
}
