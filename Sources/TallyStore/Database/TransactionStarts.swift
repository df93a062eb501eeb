import Foundation
import GRDB
import Synchronization

/// Counts the transactions that begin on the connection that writes.
///
/// A statement that rolls back because of an error (`OR ROLLBACK`) ends the transaction, and GRDB tells no observer of
/// it. If the app ignores the error and begins another transaction, only this shows that it is another one. GRDB asks
/// the clock whenever a connection leaves auto-commit mode.
final class TransactionStarts: TransactionClock {
  private let number = Atomic<Int>(0)

  /// How many have begun so far.
  var count: Int { number.load(ordering: .relaxed) }

  func now(_ db: Database) throws -> Date {
    // A pool's readers have the same clock.
    if !db.configuration.readonly { number.add(1, ordering: .relaxed) }
    let clock: DefaultTransactionClock = .default
    return try clock.now(db)
  }
}
