import Foundation
import GRDB

extension Store {
  /// The time of the store's clock, for notes that people read.
  package var now: Date { options.now() }

  /// The notes of a scope: empty if there are none, or if they were damaged and will be replaced.
  ///
  /// A store that was opened for reading notes nothing and has nothing noted.
  package struct Notes: Sendable {
    /// The values by their keys.
    package var values: [String: [UInt8]] = [:]
    /// Whether what was there is not to be relied on, so that the next batch should replace all of it.
    package var isDamaged = false
    /// Whether anything can be noted.
    package var canBeWritten = true
  }

  /// Reads what is noted in a scope, in one snapshot.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`, but for damage to the notes themselves: those are in
  ///   nobody's way.
  package func notes(_ scope: String) throws -> Notes {
    guard !options.isReadOnly else { return Notes(canBeWritten: false) }
    do {
      let values = try snapshot { try NoteTable($0.connection).read(scope) }
      return values.map { Notes(values: $0) } ?? Notes(isDamaged: true)
    } catch let error as DatabaseError where error.resultCode.primaryResultCode == .SQLITE_CORRUPT {
      options.environment.logger.warning("notes cannot be read", metadata: ["scope": "\(scope)"])
      return try renewNotes()
    }
  }

  /// Notes something, in a transaction of its own without a notification.
  /// - Throws: GRDB's `DatabaseError`; nothing is noted then. `StoreError.closed`.
  package func note(_ batch: NoteBatch) throws {
    guard !options.isReadOnly else { return }
    try replicate { try NoteTable($0.connection).write(batch) }
  }

  /// Notes something that nothing depends on. What keeps it from being noted, such as a full disk, is logged.
  package func noteIfPossible(_ batch: NoteBatch) {
    do {
      try note(batch)
    } catch {
      options.environment.logger.warning(
        "something could not be noted", metadata: ["scope": "\(batch.scope)", "error": "\(error)"])
    }
  }

  /// Recreates the table if its pages cannot be read; where even that fails, nothing is noted.
  private func renewNotes() throws -> Notes {
    do {
      try replicate { transaction in
        try transaction.connection.execute("DROP TABLE IF EXISTS tally_note")
        try transaction.connection.execute(Format.laterTables)
      }
      return Notes(isDamaged: true)
    } catch let error as DatabaseError where error.resultCode.primaryResultCode == .SQLITE_CORRUPT {
      return Notes(canBeWritten: false)
    }
  }
}
