import TallyCRDT

/// Faults of what performs for sessions, which the product does not have: they show that a world would notice.
extension World {
  private func way(_ from: Int, _ to: Int) -> Int { from << 16 | to }

  /// What a sender takes for known to the receiver.
  func assumed(_ asked: StateVector, _ from: Int, _ to: Int) -> StateVector {
    guard planted.contains(.sentCountsAsReceived), let sent = sentVectors[way(from, to)] else { return asked }
    return asked.isEmpty ? asked : asked.merging(sent)
  }

  func noteSent(_ target: StateVector, _ from: Int, _ to: Int) {
    if planted.contains(.sentCountsAsReceived) { sentVectors[way(from, to), default: StateVector()].merge(target) }
  }
}
