import GRDB
import GRDBSQLite

/// A query that was ended because it took too long, or that needs a table that this SQLite does not have.
package struct SQLInterruption: Error {
  /// Whether a table of SQLite's own is missing, rather than time.
  package var isMissingTable: Bool
}

extension Connection {
  /// The number of SQLite's instructions between two looks at the clock: some tenths of a millisecond.
  private static let instructions: Int32 = 20_000

  /// Runs queries that end with `SQLInterruption` once `isOver` says so, which is asked after so many of SQLite's
  /// instructions. Queries of others are not interrupted.
  package func interrupting<T>(
    when isOver: @escaping () -> Bool, every instructions: Int32 = instructions, _ body: () throws -> T
  ) throws -> T {
    let box = Unmanaged.passRetained(InterruptionBox(isOver))
    // https://sqlite.org/c3ref/progress_handler.html
    sqlite3_progress_handler(
      handle, instructions,
      { context in
        guard let context else { return 0 }
        return Unmanaged<InterruptionBox>.fromOpaque(context).takeUnretainedValue().isOver() ? 1 : 0
      }, box.toOpaque())
    defer {
      sqlite3_progress_handler(handle, 0, nil, nil)
      box.release()
    }
    do {
      return try body()
    } catch let error as DatabaseError where error.resultCode == .SQLITE_INTERRUPT {
      throw SQLInterruption(isMissingTable: false)
    } catch let error as DatabaseError where error.message?.hasPrefix("no such table: dbstat") == true {
      throw SQLInterruption(isMissingTable: true)
    }
  }
}

private final class InterruptionBox {
  let isOver: () -> Bool
  init(_ isOver: @escaping () -> Bool) { self.isOver = isOver }
}
