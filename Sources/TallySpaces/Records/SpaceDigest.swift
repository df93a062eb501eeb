#if Spaces
  /// Thirty-two bytes that stand for others: the SHA-256 of a record, of a key, or of a file's content. They have an
  /// order, that of the bytes, in which records name others.
  package struct SpaceDigest: Sendable, Hashable, Comparable, CustomStringConvertible {
    package static let byteCount = 32
    private let first, second, third, fourth: UInt64

    /// Creates a digest from its bytes; nil unless there are 32.
    package init?(_ bytes: some Collection<UInt8>) {
      guard bytes.count == Self.byteCount else { return nil }
      var words: [UInt64] = [0, 0, 0, 0]
      for (index, byte) in bytes.enumerated() { words[index / 8] = words[index / 8] << 8 | UInt64(byte) }
      (first, second, third, fourth) = (words[0], words[1], words[2], words[3])
    }

    package var bytes: [UInt8] { [first, second, third, fourth].flatMap(\.bigEndianBytes) }

    package static func < (left: Self, right: Self) -> Bool {
      (left.first, left.second, left.third, left.fourth) < (right.first, right.second, right.third, right.fourth)
    }

    /// The first eight of 64 hexadecimal digits, for logs.
    package var description: String { bytes.prefix(4).reduce(into: "") { $0 += Self.digits($1) } }

    private static func digits(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }
  }

  extension UInt64 {
    /// The eight bytes of the number, the most significant first.
    var bigEndianBytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: self >> (56 - 8 * $0)) } }
  }
#endif
