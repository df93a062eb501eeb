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
  /// Thirty-two lowercase hexadecimal digits.
  public var description: String { hexadecimal(high) + hexadecimal(low) }

  /// Reads thirty-two hexadecimal digits; nil for anything else.
  public init?(_ description: String) {
    let digits = Array(description.utf8)
    guard digits.count == 32, digits.allSatisfy({ hexadecimalValue($0) != nil }) else { return nil }
    func half(_ range: Range<Int>) -> UInt64 {
      digits[range].reduce(0) { $0 << 4 | UInt64(hexadecimalValue($1) ?? 0) }
    }
    self.init(high: half(0..<16), low: half(16..<32))
  }
}

/// Sixteen lowercase hexadecimal digits.
package func hexadecimal(_ number: UInt64) -> String {
  let digits = String(number, radix: 16)
  return String(repeating: "0", count: 16 - digits.utf8.count) + digits
}

/// The value of one hexadecimal digit in ASCII, either case.
package func hexadecimalValue(_ byte: UInt8) -> UInt8? {
  switch byte {
  case 0x30...0x39: byte - 0x30
  case 0x61...0x66: byte - 0x61 + 10
  case 0x41...0x46: byte - 0x41 + 10
  default: nil
  }
}
