/// Which value a register keeps of those that were written without having seen each other: a best score is the
/// greatest, a best time the least.
///
/// A write that takes a value further is a *raise*, up or down. It has the time of the write that it raises; the first
/// one of a register has the earliest time of all. So all raises that start from one beginning have one time, and of
/// writes of one rank and one time the greater value stays, then the greater dot. A *set* begins again: it is later
/// than what it has seen, as any write, and all raises since have its time. Rank, time, value and dot are a
/// lexicographic product of chains, so the join is commutative, associative and idempotent (Almeida, Shoker and
/// Baquero, "Delta State Replicated Data Types", 2018), and no list of what a set had seen is needed.
public enum Extremum: String, Sendable, Hashable, CaseIterable {
  /// The register keeps the greatest value.
  case greatest
  /// The register keeps the least value.
  case least

  /// Whether a value takes another one further. Null is what every number takes further. Integers and reals compare as
  /// numbers, each among themselves; between them, which only apps of different schemas write, reals are the greater.
  public func prefers(_ value: Value, over other: Value) -> Bool {
    guard !other.isNull else { return !value.isNull }
    guard !value.isNull else { return false }
    return switch self {
    case .greatest: Self.precedes(other, value)
    case .least: Self.precedes(value, other)
    }
  }

  private static func precedes(_ one: Value, _ other: Value) -> Bool {
    if case (.real(let one), .real(let other)) = (one, other) { return one < other }
    return one < other
  }
}

#if !hasFeature(Embedded)
  extension Extremum: Codable {}
#endif

extension HybridTime {
  /// The time of what raises a register that nothing was set to.
  public static let earliest = HybridTime(milliseconds: 0)
}

extension FieldCell {
  /// Whether both writes raise what began with the same set, or with nothing.
  @usableFromInline
  func hasBase(of other: FieldCell) -> Bool { stamp.rank == other.stamp.rank && stamp.time == other.stamp.time }

  /// Whether the value of one of two writes is lost. Two totals of one replica are the same addition: the other one is
  /// in the later. What was raised further is what both asked for.
  package func isConflict(with winner: FieldCell) -> Bool {
    value != winner.value && !field.isTotal && (field.extremum == nil ? !stamp.isStandIn : !hasBase(of: winner))
  }
}
