import TallyCRDT
import TallyWire

/// Notices that this file is one of two: a copy, or restored from a backup. Two that go on under one replica id would
/// issue the same dots for different writes, so a store that notices takes a new id. Only looks; the transaction acts.
struct CopyDetection {
  /// This store's replica; nil if it has none yet.
  let own: ReplicaID?
  /// The vector before anything is joined.
  let before: StateVector
  let header: DeltaHeader
  let isRepair: Bool
  /// Whether states were lost here since the last repair. A peer then holds more cells of this replica than this store
  /// does, without being a copy of it.
  let hasLost: Bool
  /// Whether another copy of this file has written under its replica id.
  private(set) var hasFoundCopy = false

  init(own: ReplicaID?, before: StateVector, _ header: DeltaHeader, isRepair: Bool, hasLost: Bool) {
    (self.own, self.before, self.header, self.isRepair, self.hasLost) = (own, before, header, isRepair, hasLost)
  }

  /// Whether the peer knows more of this replica than the replica itself: this file is an old copy, which must not
  /// issue those dots again.
  var isOldCopy: Bool { own.map { header.target[$0] > before[$0] } ?? false }

  /// Looks whether a peer with an equal vector has other cells under this replica's id than were written here.
  mutating func look(_ isContradicted: (ReplicaID) -> Bool) {
    guard isRepair, !hasLost, !hasFoundCopy, header.target == before, let own else { return }
    hasFoundCopy = isContradicted(own)
  }
}

extension RecordState {
  /// Whether another state has a cell by `replica` that this one has not.
  func contradicts(_ replica: ReplicaID, by other: RecordState) -> Bool {
    if let existence = other.existence, existence.dot.replica == replica, existence != self.existence { return true }
    if let basis = other.seed?.basis, basis.stamp.dot.replica == replica, basis != seed?.basis { return true }
    // A register of another life is void on one side.
    let isSameLife = life?.stamp == other.life?.stamp
    return other.fields.contains { cell in
      (isSameLife || cell.field.isPresence) && cell.stamp.dot.replica == replica && self[cell.field] != cell
    }
      || other.deletes.contains { $0.stamp.dot.replica == replica && !deletes.contains($0) }
  }
}

extension ORSetElement {
  /// Whether another state has an add, a removal or a place by `replica` that this one has not.
  func contradicts(_ replica: ReplicaID, by other: ORSetElement) -> Bool {
    if let theirs = other.place, theirs.stamp.dot.replica == replica {
      // A later one took the place of what this state had.
      guard let place, place.stamp > theirs.stamp || place == theirs else { return true }
    }
    return other.tags.contains { tag in
      (tag.added.dot.replica == replica || tag.removed?.dot.replica == replica) && !contains(tag)
    }
  }
}
