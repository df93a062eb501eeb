/// One committed local transaction of one replica: the unit that state vectors count.
///
/// Sequences start at 1 and have no gaps. Every cell that a transaction writes carries the transaction's dot.
/// The name follows Almeida, Shoker and Baquero, "Delta State Replicated Data Types" (2016); there a dot names one
/// update, here one transaction, so that a transaction's cells appear together or not at all.
public struct Dot: Hashable, Sendable, Comparable {
  /// The replica that committed the transaction.
  public let replica: ReplicaID
  /// The number of the transaction at that replica, from 1; at most 2^63 - 1 in files and on the wire.
  public let sequence: UInt64

  /// Names the transaction `sequence` of `replica`.
  @inlinable
  public init(replica: ReplicaID, sequence: UInt64) {
    self.replica = replica
    self.sequence = sequence
  }

  /// Orders by replica, then sequence. A canonical order for encoding; it says nothing about causality.
  @inlinable
  public static func < (lhs: Dot, rhs: Dot) -> Bool {
    lhs.replica != rhs.replica ? lhs.replica < rhs.replica : lhs.sequence < rhs.sequence
  }
}

extension Dot: CustomStringConvertible {
  /// The dot as text: the replica's id, a colon, and the sequence.
  public var description: String { "\(replica):\(sequence)" }
}
