/// The point up to which a space's log was read: a position, and a hash that depends on all entries up to it.
///
/// As text, in queries, headers and JSON: the position in decimal, a dot, and 32 lowercase hexadecimal digits. A relay
/// that has no such chain at that position, because it was restored from a backup for instance, answers with a
/// listing.
public struct RelayCursor: Sendable, Hashable, LosslessStringConvertible {
  /// The number of bytes of the chain's hash that are kept.
  public static let chainBytes = 16

  /// The number of entries and removals up to and including this position; 0 at the beginning.
  public let position: UInt64
  /// The chain's hash at that position, of sixteen bytes.
  public let chain: [UInt8]

  /// A cursor; nil if the chain's hash has another length than sixteen bytes.
  public init?(position: UInt64, chain: [UInt8]) {
    guard chain.count == Self.chainBytes else { return nil }
    (self.position, self.chain) = (position, chain)
  }

  /// A cursor as its description says it; nil for anything else.
  public init?(_ description: String) {
    let parts = description.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let position = UInt64(parts[0]), parts[0] == "\(position)",
      let chain = Self.bytes(parts[1])
    else { return nil }
    self.init(position: position, chain: chain)
  }

  /// The position, a dot, and the chain's hash.
  public var description: String { "\(position).\(chainText)" }

  /// The chain's hash in small hexadecimal digits.
  public var chainText: String {
    String(unsafeUninitializedCapacity: 2 * chain.count) { text in
      for (index, byte) in chain.enumerated() {
        text[2 * index] = Self.digit(byte >> 4)
        text[2 * index + 1] = Self.digit(byte & 15)
      }
      return 2 * chain.count
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }

  private static func bytes(_ text: Substring) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count == 2 * chainBytes else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x61...0x66: digit - 0x61 + 10
    default: nil
    }
  }
}
