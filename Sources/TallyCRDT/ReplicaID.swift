/// The identity of one replica: a 128-bit random number, minted at the store's first local write and never reused.
///
/// Replica ids order as their sixteen bytes do; that order breaks ties between stamps, so it is part of the merge.
public struct ReplicaID: Hashable, Sendable, Comparable {
  /// The first eight bytes, big-endian.
  public let high: UInt64
  /// The last eight bytes, big-endian.
  public let low: UInt64

  /// Makes an id from its two halves.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Mints a new id from the given source of randomness.
  public static func random(using generator: inout some RandomNumberGenerator) -> ReplicaID {
    ReplicaID(high: generator.next(), low: generator.next())
  }

  /// Orders two ids as their bytes order.
  @inlinable
  public static func < (lhs: ReplicaID, rhs: ReplicaID) -> Bool {
    lhs.high != rhs.high ? lhs.high < rhs.high : lhs.low < rhs.low
  }
}

extension ReplicaID: CustomStringConvertible, LosslessStringConvertible {
  /// The id as thirty-two lowercase hexadecimal digits.
  public var description: String { Hexadecimal.text(high) + Hexadecimal.text(low) }

  /// Reads thirty-two hexadecimal digits; nil for anything else.
  public init?(_ description: String) {
    guard description.utf8.count == 32, let bytes = Hexadecimal.bytes(description) else { return nil }
    func half(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    self.init(high: half(bytes[..<8]), low: half(bytes[8...]))
  }
}
