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
    let (column, lost) = (column ?? field, text(loserValue.databaseValue))
    return switch kind {
    case .overwritten: "\(column): \(lost) lost to \(text(winnerValue.databaseValue))"
    case .deleted: "\(column): \(lost) lost to a delete"
    case .deleteUndone: "\(name) was deleted, and came back because somebody else edited it"
    case .referenceCleared: "\(column): \(lost) was deleted by somebody else"
    }
  }

  private func text(_ value: DatabaseValue) -> String {
    String.fromDatabaseValue(value).map { "\"\($0)\"" } ?? value.description
  }
}
