/// What a store is told that was made of what could be read in a damaged one.
package enum RecoveredStore {
  /// Notes the doubt, and the progress of imports as it was kept. Returns false if that cannot be read.
  package static func note(_ store: Store, imports: String?) throws -> Bool {
    try store.replicate { transaction in
      try transaction.note(doubt: .unvouched, because: "the store was recovered from a damaged file")
      do {
        if let imports { try ImportStanding.write(imports, transaction.connection) }
      } catch let error as StoreError where error.code == .corrupt {
        return false
      }
      return true
    }.value
  }
}
