/// A hybrid logical time in milliseconds since 1970, in 48 bits.
///
/// A writer takes `max(now, time of the cell being overwritten + 1)`: a write that saw another has the later time, in
/// spite of all clocks, and a device whose clock is far ahead affects only the cells that it touched. Only at `maximum`
/// is there no later time: a cell that has it is overwritten by a greater replica or sequence alone. Receivers never
/// clamp a time and never absorb it into their own clock. This differs from Kulkarni et al., "Logical Physical Clocks"
/// (2014), where a receiver's clock follows every message: here causality is per cell.
public struct HybridTime: Hashable, Sendable, Comparable {
  /// Milliseconds since 1970-01-01 UTC, at most `maximum`.
  public let milliseconds: UInt64
  /// The largest time: 2^48 - 1 milliseconds, in the year 10889.
  public static let maximum: UInt64 = (1 << 48) - 1
  /// The latest time that a clock may claim: 2^47 milliseconds, in the year 6429. It leaves as many writes after it,
  /// each of which has seen the one before. Only a forged stamp can stand at `maximum`; a write over that one ties with
  /// it and may lose.
  public static let latestClock: UInt64 = 1 << 47

  /// A time, limited to what 48 bits hold.
  @inlinable
  public init(milliseconds: UInt64) { self.milliseconds = min(milliseconds, Self.maximum) }

  /// Creates the time that a clock shows: milliseconds since 1970, limited to what a clock may claim. Not a number
  /// counts as 0.
  public init(clock milliseconds: Double) {
    let limited = min(max(0, milliseconds.isNaN ? 0 : milliseconds.rounded()), Double(Self.latestClock))
    self.init(milliseconds: UInt64(limited))
  }

  /// The time to write with at `now` over a cell of time `overwritten`; nil if the cell was never written.
  @inlinable
  public static func next(now: HybridTime, over overwritten: HybridTime?) -> HybridTime {
    guard let overwritten, overwritten.milliseconds >= now.milliseconds else { return now }
    return HybridTime(milliseconds: overwritten.milliseconds + 1)
  }

  /// Orders times by their milliseconds.
  @inlinable
  public static func < (lhs: HybridTime, rhs: HybridTime) -> Bool { lhs.milliseconds < rhs.milliseconds }
}

/// The rank of a write, which is compared before its time.
public struct Rank: Hashable, Sendable, Comparable, RawRepresentable {
  /// The rank as it is encoded.
  public let rawValue: UInt8
  /// Default data: below everything a person wrote.
  public static let seed = Rank(rawValue: 0)
  /// The rank of what adoption carried over from duplicates of default data: below what a user wrote, and no touch.
  public static let adopted = Rank(rawValue: 1)
  /// The rank of what a user or their app wrote.
  public static let user = Rank(rawValue: 2)

  /// A rank from its encoded form; ranks unknown to this version order by their number.
  @inlinable
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Orders ranks by their numbers.
  @inlinable
  public static func < (lhs: Rank, rhs: Rank) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// The order of the writes of one register: rank, then time, then replica, then sequence. The greater stamp wins.
///
/// A dot is issued once, so two cells with equal stamps come from the same transaction. Should two copies of one
/// register hold different values under one stamp all the same (a forged or corrupted peer), the greater value wins
/// everywhere. One transaction's cells may differ in time. The order is total and says nothing about causality by
/// itself: it agrees with it because of how `HybridTime.next(now:over:)` chooses times.
public struct Stamp: Hashable, Sendable, Comparable {
  /// The rank, which is compared first.
  public let rank: Rank
  /// The hybrid time, compared second.
  public let time: HybridTime
  /// The transaction's dot, which is compared last.
  public let dot: Dot

  /// A stamp for a cell of the transaction `dot`.
  @inlinable
  public init(rank: Rank = .user, time: HybridTime, dot: Dot) {
    self.rank = rank
    self.time = time
    self.dot = dot
  }

  /// Whether the stamp is below `rhs`: the cell that has it loses.
  @inlinable
  public static func < (lhs: Stamp, rhs: Stamp) -> Bool {
    if lhs.rank != rhs.rank { return lhs.rank < rhs.rank }
    if lhs.time != rhs.time { return lhs.time < rhs.time }
    return lhs.dot < rhs.dot
  }
}
