import TallyCRDT
import TallyWire

/// What a transaction has found of states that are lost or damaged.
struct Losses {
  /// Whether states are known not to fit their checksums, so that the sum of the whole must not fit either.
  var areUnfit = false
  /// Whether a state is lost that may have held what this replica has added to counters.
  var mayHoldTotals = false

  /// Gives up the replica id if what it has added is lost here: another total under it would be taken for all of that.
  func leaveTotals(_ transaction: WriteTransaction) throws {
    guard mayHoldTotals, let replica = transaction.replica else { return }
    let catalog = transaction.catalog
    let hasAdded = catalog.fieldOfKey.values.contains { keys in
      keys.keys.contains { FieldKey.kind(of: $0) == .total(replica) }
    }
    // Nor does the catalog say who has added if that is what was lost.
    let mayHaveAdded = NumberedTable.hasLostFields(catalog) && catalog.records.values.contains { !$0.counters.isEmpty }
    guard hasAdded || mayHaveAdded else { return }
    try transaction.renewReplica(because: "what this device has added to counters was lost")
  }
}
