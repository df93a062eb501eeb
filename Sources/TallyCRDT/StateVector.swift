/// The causal relation of two events or two state vectors. The order is partial: two vectors can be concurrent.
public enum CausalOrder: Sendable {
  /// Both cover the same transactions.
  case equal
  /// The first covers less: everything in it is in the second as well.
  case before
  /// The first covers everything that the second does, and more.
  case after
  /// Each covers something that the other lacks.
  case concurrent
}

/// For each replica the highest sequence whose effects are in a store: what the literature calls a version vector
/// (Parker et al., 1983). Inclusive and 1-based; a replica that is absent stands at 0.
///
/// Stores apply whole deltas only, so a vector is causally closed: if it covers a transaction, it covers everything
/// that the transaction's author had seen. Merging is the pointwise maximum. The order is partial, so there is no `<`;
/// see `compare(to:)`. Sequences are at most 2^63 - 1 in files and on the wire.
public struct StateVector: Hashable, Sendable {
  /// Ascending by replica, one for each, none with sequence 0. Vectors are short, and read far more often than they get
  /// another entry: comparing ids costs less than hashing them.
  @usableFromInline var dots: [Dot]

  /// The vector that covers nothing.
  @inlinable
  public init() { dots = [] }

  /// A vector with these entries, the highest of each replica; zeros are left out. Cost: linear if they are in the
  /// canonical order.
  public init(_ entries: some Sequence<(ReplicaID, UInt64)>) {
    dots = []
    var isAscending = true
    for (replica, sequence) in entries where sequence > 0 {
      if let last = dots.last, last.replica >= replica { isAscending = false }
      dots.append(Dot(replica: replica, sequence: sequence))
    }
    guard !isAscending else { return }
    dots.sort()
    var highest: [Dot] = []
    for dot in dots {
      if highest.last?.replica == dot.replica { highest.removeLast() }
      highest.append(dot)
    }
    dots = highest
  }

  /// The place of a replica's entry, or where it would be.
  @inlinable
  func place(of replica: ReplicaID) -> (index: Int, isFound: Bool) {
    var (low, high) = (0, dots.count)
    while low < high {
      let middle = (low + high) / 2
      let found = dots[middle].replica
      if found == replica { return (middle, true) }
      if found < replica { low = middle + 1 } else { high = middle }
    }
    return (low, false)
  }

  /// The highest sequence covered of a replica; 0 if none. Setting it can lower an entry; setting 0 takes it away.
  @inlinable
  public subscript(replica: ReplicaID) -> UInt64 {
    get {
      let (index, isFound) = place(of: replica)
      return isFound ? dots[index].sequence : 0
    }
    set {
      let (index, isFound) = place(of: replica)
      switch (isFound, newValue) {
      case (true, 0): dots.remove(at: index)
      case (true, _): dots[index] = Dot(replica: replica, sequence: newValue)
      case (false, 0): break
      case (false, _): dots.insert(Dot(replica: replica, sequence: newValue), at: index)
      }
    }
  }

  /// Whether the vector covers no transaction at all.
  @inlinable
  public var isEmpty: Bool { dots.isEmpty }

  /// The number of replicas with an entry.
  @inlinable
  public var count: Int { dots.count }

  /// The entries in the canonical order, by replica id.
  @inlinable
  public var entries: [Dot] { dots }

  /// Whether a transaction's effects are covered.
  @inlinable
  public func covers(_ dot: Dot) -> Bool { dot.sequence <= self[dot.replica] }

  /// Whether every transaction of `other` is covered.
  public func covers(_ other: StateVector) -> Bool {
    guard other.count <= count else { return false }
    return other.dots.allSatisfy(covers)
  }

  /// Raises one entry so that it covers `dot`.
  @inlinable
  public mutating func include(_ dot: Dot) {
    if dot.sequence > self[dot.replica] { self[dot.replica] = dot.sequence }
  }

  /// The pointwise maximum with `other`: commutative, associative, idempotent. Cost: the entries of both, if `other`
  /// covers anything that is not covered here.
  public mutating func merge(_ other: StateVector) {
    if isEmpty {
      dots = other.dots
    } else if !covers(other) {
      dots = Self.merged(dots, other.dots)
    }
  }

  private static func merged(_ left: [Dot], _ right: [Dot]) -> [Dot] {
    var merged: [Dot] = []
    merged.reserveCapacity(max(left.count, right.count))
    var (mine, theirs) = (left[...], right[...])
    while let first = mine.first, let other = theirs.first {
      if first.replica == other.replica {
        merged.append(max(first, other))
        mine.removeFirst()
        theirs.removeFirst()
      } else {
        merged.append(first.replica < other.replica ? mine.removeFirst() : theirs.removeFirst())
      }
    }
    return merged + mine + theirs
  }

  /// The pointwise maximum of both.
  public func merging(_ other: StateVector) -> StateVector {
    var result = self
    result.merge(other)
    return result
  }

  /// The entries that `floor` does not cover, each with its own sequence: what of this vector a replica lacks that has
  /// `floor`.
  public func beyond(_ floor: StateVector) -> StateVector {
    guard !isEmpty, !floor.isEmpty else { return self }
    return filter { !floor.covers($0) }
  }

  /// The entries for which `isIncluded` holds.
  package func filter(_ isIncluded: (Dot) -> Bool) -> StateVector {
    // Nearly always it is all of them or none, which takes no memory.
    guard let first = dots.firstIndex(where: { !isIncluded($0) }) else { return self }
    var result = StateVector()
    for (index, dot) in dots.enumerated() where index < first || index > first && isIncluded(dot) {
      result.dots.append(dot)
    }
    return result
  }

  /// Returns the causal relation of this vector to another.
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
