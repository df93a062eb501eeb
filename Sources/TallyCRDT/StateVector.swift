/// How two events or two state vectors stand to each other. The order is partial: two vectors can be concurrent.
public enum CausalOrder: Sendable {
  /// Both cover the same transactions.
  case equal
  /// The first covers less: everything in it is in the second as well.
  case before
  /// The first covers more.
  case after
  /// Each covers something that the other lacks.
  case concurrent
}

/// For each replica the highest sequence whose effects are in a store: what the literature calls a version vector
/// (Parker et al., 1983). Inclusive and 1-based; a replica that is absent stands at 0.
///
/// Stores apply whole deltas only, so a vector is causally closed: if it covers a transaction, it covers everything
/// that the transaction's author had seen. Merging is the pointwise maximum. The order is partial, so there is no `<`; see
/// `compare(to:)`. Sequences are at most 2^63 - 1 in files and on the wire.
public struct StateVector: Hashable, Sendable {
  @usableFromInline var sequences: [ReplicaID: UInt64]

  /// The vector that covers nothing.
  @inlinable
  public init() { sequences = [:] }

  /// A vector with these entries; zeros are left out.
  public init(_ entries: some Sequence<(ReplicaID, UInt64)>) {
    sequences = [:]
    for (replica, sequence) in entries where sequence > self[replica] { sequences[replica] = sequence }
  }

  /// The highest sequence covered of a replica; 0 if none. Setting it can lower an entry; setting 0 takes it away.
  @inlinable
  public subscript(replica: ReplicaID) -> UInt64 {
    get { sequences.isEmpty ? 0 : sequences[replica] ?? 0 }
    set { sequences[replica] = newValue == 0 ? nil : newValue }
  }

  /// Whether nothing is covered.
  @inlinable
  public var isEmpty: Bool { sequences.isEmpty }

  /// The number of replicas with an entry.
  @inlinable
  public var count: Int { sequences.count }

  /// The entries in the canonical order, by replica id. Sorts them anew each time.
  public var entries: [Dot] {
    sequences.isEmpty ? [] : sequences.map { Dot(replica: $0.key, sequence: $0.value) }.sorted()
  }

  /// Whether a transaction's effects are covered.
  @inlinable
  public func covers(_ dot: Dot) -> Bool { dot.sequence <= self[dot.replica] }

  /// Whether every transaction of `other` is covered.
  public func covers(_ other: StateVector) -> Bool {
    other.sequences.allSatisfy { $0.value <= self[$0.key] }
  }

  /// Raises one entry so that it covers `dot`.
  @inlinable
  public mutating func include(_ dot: Dot) {
    if dot.sequence > self[dot.replica] { sequences[dot.replica] = dot.sequence }
  }

  /// The pointwise maximum with `other`: commutative, associative, idempotent. Cost: the entries of `other`.
  public mutating func merge(_ other: StateVector) {
    if sequences.isEmpty {
      sequences = other.sequences
    } else {
      for (replica, sequence) in other.sequences where sequence > self[replica] { sequences[replica] = sequence }
    }
  }

  /// The pointwise maximum of both.
  public func merging(_ other: StateVector) -> StateVector {
    var result = self
    result.merge(other)
    return result
  }

  /// The entries that `floor` does not cover, each with its own sequence: what of this vector somebody lacks who has `floor`.
  public func beyond(_ floor: StateVector) -> StateVector {
    guard !isEmpty, !floor.isEmpty else { return self }
    var result = self
    result.sequences = sequences.filter { $0.value > floor[$0.key] }
    return result
  }

  /// The entries for which `isIncluded` holds.
  package func filter(_ isIncluded: (Dot) -> Bool) -> StateVector {
    var result = self
    for (replica, sequence) in sequences where !isIncluded(Dot(replica: replica, sequence: sequence)) {
      result.sequences[replica] = nil
    }
    return result
  }

  /// How this vector stands to another.
  public func compare(to other: StateVector) -> CausalOrder {
    switch (covers(other), other.covers(self)) {
    case (true, true): .equal
    case (false, true): .before
    case (true, false): .after
    case (false, false): .concurrent
    }
  }
}

extension StateVector: CustomStringConvertible, LosslessStringConvertible {
  /// `replica:sequence` pairs in canonical order, separated by commas; empty for the empty vector.
  public var description: String { entries.map { $0.description }.joined(separator: ",") }

  /// Reads what `description` writes; nil for anything else, a repeated replica included.
  public init?(_ description: String) {
    self.init()
    for pair in description.split(separator: ",", omittingEmptySubsequences: !description.isEmpty ? false : true) {
      let parts = pair.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2, let replica = ReplicaID(String(parts[0])), let sequence = UInt64(parts[1]),
        String(sequence) == parts[1], sequence > 0, self[replica] == 0
      else { return nil }
      self[replica] = sequence
    }
  }
}
