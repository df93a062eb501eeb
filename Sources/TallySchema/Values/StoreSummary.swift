import TallyCRDT

/// The state of a replica in a few bytes: how far it has come and what it holds.
public struct StoreSummary: Sendable, Equatable {
  /// The state vector: which transactions of which replicas the store has.
  public var vector: StateVector
  /// The sum over its live content.
  public var fingerprint: Fingerprint
  /// This replica; nil before its first write, or its first session that introduces the device.
  public var replica: ReplicaID?

  /// Creates the summary of a store.
  package init(vector: StateVector, fingerprint: Fingerprint, replica: ReplicaID?) {
    (self.vector, self.fingerprint, self.replica) = (vector, fingerprint, replica)
  }
}
