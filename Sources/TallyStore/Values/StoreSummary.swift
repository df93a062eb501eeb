import TallyCRDT

/// What a replica is, in a few bytes: where it stands and what it holds.
public struct StoreSummary: Sendable, Equatable {
  /// What is in the store.
  public var vector: StateVector
  /// The sum over its live content.
  public var fingerprint: Fingerprint
  /// This replica; nil before its first write.
  public var replica: ReplicaID?

  /// Where a store stands.
  package init(vector: StateVector, fingerprint: Fingerprint, replica: ReplicaID?) {
    (self.vector, self.fingerprint, self.replica) = (vector, fingerprint, replica)
  }
}
