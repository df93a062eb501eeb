import Foundation
import GRDB
import TallyCRDT

/// The store's part of an import: a namespace for ids that are numbers, and writes that are captured together with the
/// note of how far the import has come.
extension Store {
  /// Returns a namespace that no other store has.
  package func newNamespace() -> UUID {
    let id = options.environment.mintReplica()
    func byte(_ index: Int) -> UInt8 {
      UInt8(truncatingIfNeeded: (index < 8 ? id.high : id.low) >> UInt64(56 - 8 * (index % 8)))
    }
    return UUID(
      uuid: (
        byte(0), byte(1), byte(2), byte(3), byte(4), byte(5), byte(6), byte(7), byte(8), byte(9), byte(10), byte(11),
        byte(12), byte(13), byte(14), byte(15)
      ))
  }

  /// Runs the app's kind of writes, so that they are captured, together with what they need to know of the store.
  package func writeImported<T>(_ body: (Database, StateReader) throws -> T) throws -> T {
    try perform { db in
      try withSession(db) { session in
        let value = try session.listen { try body(db, session.reader) }
        let dot = try session.transaction { transaction in
          try transaction.capture(.app)
          return transaction
        }.dot
        return (value, dot ?? session.interludeDot)
      }
    }.value
  }
}
