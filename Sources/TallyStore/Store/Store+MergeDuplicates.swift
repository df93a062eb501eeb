import GRDB
import TallyCRDT
import TallySchema

extension Store {
  /// Makes one record of those that have the same value under a rule with ``UniquePolicy/merge``, on all devices.
  ///
  /// ```swift
  /// let report = try store.mergeDuplicates()
  /// for (name, other) in report.merged { print("\(name) is \(other) now") }
  /// ```
  ///
  /// Of the records that have one value, the one whose name comes first stays: a seed's before others, then in the
  /// order of bytes. The others are hidden as if they had been deleted. References to them show the one that stays, it
  /// owns what they owned, and it is a member wherever they were. In its own fields it keeps what was written to it;
  /// a field to which nobody has written takes the newest value that any of the others had. Nobody's write is written
  /// over: a record that is edited at the same time on another device stays, until it is merged by a later call.
  ///
  /// Call it at launch and after a sync. Until then the records show their value as with ``UniquePolicy/rename``. It
  /// also completes earlier merges: members that other devices have since added to a record that gave way, and records
  /// that come back because the one that stood for them was deleted by somebody who did not know of the merge.
  ///
  /// Each call is one transaction, two if records come back, or none if there is nothing to do. Cost: the contested
  /// values; after the first merge of a type also its hidden records, and all of its records are written in the way
  /// that allows for ones that gave way.
  /// - Returns: which records gave way to which, and which came back.
  /// - Throws: `StoreError.closed`, `.readOnly`, `.damaged`; `DatabaseError`. The failed transaction changed nothing.
  @discardableResult
  public func mergeDuplicates() throws -> DuplicateReport {
    let isIdle = try snapshot { reader in
      let merge = DuplicateMerge(reader)
      return try merge.duplicates().isEmpty && merge.lateMembers().isEmpty && merge.stranded().isEmpty
    }
    guard !isIdle else { return DuplicateReport() }
    var report = try replicate(DuplicateMerge.carryOut).value
    // Those that are back may have one name.
    if !report.restored.isEmpty {
      let next = try replicate(DuplicateMerge.carryOut).value
      report.merged.merge(next.merged) { $1 }
      report.members += next.members
    }
    return report
  }
}
