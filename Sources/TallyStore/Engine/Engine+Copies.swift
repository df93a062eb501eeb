import TallyCRDT
import TallyWire

/// Noticing that this file is one of two: a copy, or restored from a backup. Two that go on under one replica id would issue the
/// same dots for different writes, so whoever notices takes a new id.
extension Engine {
  /// A peer that knows more of this replica than the replica itself: this file is an old copy. It must not issue those dots again.
  func noticeRestore(_ header: DeltaHeader) throws {
    guard let ownNumber, let own = catalog.replicas[ownNumber], header.target[own] > vector[own] else { return }
    if environment.planted.contains(.restoredIDReused) { return }
    try renewReplica(because: "a peer knows more of this store than the store itself: it is an older copy")
  }

  /// Notices that a peer with an equal vector has other cells under this replica's id than were written here.
  func noticeCopy(_ merge: inout Merge, _ isContradicted: (ReplicaID) -> Bool) {
    guard merge.isRepair, !merge.isCopy, merge.header.target == merge.before else { return }
    guard let ownNumber, let own = catalog.replicas[ownNumber] else { return }
    merge.isCopy = isContradicted(own)
  }
}

extension RecordState {
  /// Whether another state has a cell by `replica` that this one has not.
  func contradicts(_ replica: ReplicaID, by other: RecordState) -> Bool {
    if let existence = other.existence, existence.dot.replica == replica, existence != self.existence { return true }
    if let basis = other.seed?.basis, basis.stamp.dot.replica == replica, basis != seed?.basis { return true }
    return other.fields.contains { $0.stamp.dot.replica == replica && self[$0.field] != $0 }
      || other.deletes.contains { $0.stamp.dot.replica == replica && !deletes.contains($0) }
  }
}

extension ORSetElement {
  /// Whether another state has an add or a removal by `replica` that this one has not.
  func contradicts(_ replica: ReplicaID, by other: ORSetElement) -> Bool {
    other.tags.contains { tag in
      (tag.added.dot.replica == replica || tag.removed?.dot.replica == replica) && !tags.contains(tag)
    }
  }
}
