import GRDB
import TallyStore

/// Which errors are answers, and which are findings.
enum RawVerdict {
  /// What a statement of the app's may fail with: constraints, columns that this version lacks, a transaction that is
  /// over.
  static func check(statement error: any Error, _ transaction: RawTransaction) throws {
    guard let error = error as? DatabaseError else { throw RawFinding("a statement threw \(error)") }
    let answers: [ResultCode] = [.SQLITE_CONSTRAINT, .SQLITE_ERROR, .SQLITE_ABORT, .SQLITE_MISMATCH]
    guard answers.contains(error.resultCode.primaryResultCode) else {
      throw RawFinding("a statement failed: \(error)")
    }
    let isOurs = error.resultCode.primaryResultCode == .SQLITE_ERROR && (error.message ?? "").contains("tally_")
    if isOurs, transaction.features.isDisjoint(with: [.copies, .clockWrites]) {
      throw RawFinding("a statement failed: \(error)")
    }
  }

  /// What a store may refuse at the end of a transaction.
  static func check(commit error: any Error, _ transaction: RawTransaction, _ features: Set<RawFeature>) throws {
    if let error = error as? StoreError, error.code == .danglingReference { return }
    // A rename gives up the old name, to which a table of the app's may refer.
    if let error = error as? StoreError, error.code == .deleteDenied,
      !features.isDisjoint(with: [.denials, .referringTable])
    {
      return
    }
    let isRefused = transaction.features.contains(.refusedValues)
    if let error = error as? StoreError, error.code == .typeMismatch, isRefused { return }
    if let error = error as? StoreError, error.code == .transactionEnded, transaction.features.contains(.orRollback) {
      return
    }
    if let error = error as? DatabaseError {
      let isConstraint = error.resultCode.primaryResultCode == .SQLITE_CONSTRAINT
      if isConstraint, features.contains(.referringTable) { return }
      if transaction.features.contains(.orRollback) { return }
    }
    throw RawFinding("a write was refused: \(error)")
  }

  /// Finds deletes that a reference with `.deny` should have stopped: the record is gone, and another still names it.
  static func check(denials before: RawRows, _ after: RawRows) throws {
    let people = (before.tables["P"] ?? [:]).keys.filter { after.tables["P"]?[$0] == nil }
    guard !people.isEmpty else { return }
    for (note, row) in after.tables["N"] ?? [:] {
      guard let person = people.first(where: { row["holder"] == $0.hexadecimal }) else { continue }
      throw RawFinding("\(person) was deleted although \(note).holder denies it")
    }
  }

  /// Whether a line of `verify` speaks of nothing but a row that a rule of the app's keeps out, or of a reference of
  /// the app's own.
  static func isTolerated(_ problem: String, _ features: Set<RawFeature>) -> Bool {
    return features.contains(.referringTable) && (problem.contains("P|~|") || problem.hasPrefix("app_fav"))
  }
}
