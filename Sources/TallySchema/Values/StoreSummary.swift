import TallyCRDT

/// The state of a replica in a few bytes: its state vector and the fingerprint of its content.
public struct StoreSummary: Sendable, Equatable {
  /// The state vector: the transactions of each replica that the store has.
  public var vector: StateVector
  /// The fingerprint of the store's live content.
  public var fingerprint: Fingerprint
  /// This replica; nil before its first write or its first session that introduces the device.
  public var replica: ReplicaID?

  /// Creates the summary of a store.
  package init(vector: StateVector, fingerprint: Fingerprint, replica: ReplicaID?) {
    (self.vector, self.fingerprint, self.replica) = (vector, fingerprint, replica)
  }
}
