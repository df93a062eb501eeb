#if Spaces
  /// The sixteen bytes by which a space knows a device, its recovery words or an invitation: the beginning of a SHA-256
  /// over the space and two public keys. So no device can choose one, and an id proves the keys of it.
  package struct MemberID: Sendable, Hashable, Comparable, CustomStringConvertible {
    package static let byteCount = 16
    private let high, low: UInt64

    /// Creates an id from its bytes; nil unless there are 16.
    package init?(_ bytes: some Collection<UInt8>) {
      guard bytes.count == Self.byteCount else { return nil }
      high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
      low = bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    package var bytes: [UInt8] { high.bigEndianBytes + low.bigEndianBytes }

    package static func < (left: Self, right: Self) -> Bool { (left.high, left.low) < (right.high, right.low) }

    /// Thirty-two hexadecimal digits.
    package var description: String {
      bytes.reduce(into: "") { $0 += ($1 < 16 ? "0" : "") + String($1, radix: 16) }
    }
  }
#endif
