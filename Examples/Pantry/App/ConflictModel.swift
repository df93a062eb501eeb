import Foundation
import Observation
import Tally
import TallyStore

/// Edits that lost, for a person to look at.
@MainActor @Observable final class ConflictModel {
  /// The number of conflicts, for a badge.
  let count: Observed<Int>
  private let store: Store

  init(_ store: Store) {
    self.store = store
    count = Observed(0, in: store) { db in try ConflictRow.fetchCount(db) }
  }

  func conflicts() throws -> [Conflict] { try store.conflicts() }
  func keepWinner(_ conflict: Conflict) throws { try store.dismiss(conflict) }
  func takeLoser(_ conflict: Conflict) throws { try store.restore(conflict) }
}

extension Conflict {
  /// `title: "Soy milk" lost to "Oat milk"`.
  var line: String {
    "\(column ?? field): \(text(loserValue.databaseValue)) lost to \(winnerIsDelete ? "a delete" : text(winnerValue.databaseValue))"
  }

  private func text(_ value: DatabaseValue) -> String {
    String.fromDatabaseValue(value).map { "\"\($0)\"" } ?? value.description
  }
}
