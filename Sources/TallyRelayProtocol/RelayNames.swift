/// Which names there are, and where things stand on a relay.
public enum RelayNames {
  /// The prefix of a token, by which secret scanners find one that was put where it does not belong.
  public static let tokenPrefix = "tally1_"
  /// The number of base64url characters after a token's prefix: 32 random bytes.
  public static let tokenCharacters = 43

  /// Whether a name can be an entry's: 1 to 255 of `A`–`Z`, `a`–`z`, `0`–`9`, `.`, `_` and `-`, not a dot at the
  /// beginning.
  @inlinable
  public static func isEntry(_ name: some StringProtocol) -> Bool {
    (1...RelayLimits.nameBytes).contains(name.utf8.count) && name.utf8.first != UInt8(ascii: ".")
      && name.utf8.allSatisfy { isWord($0) || $0 == UInt8(ascii: ".") }
  }

  /// Whether a name can be a space's: 1 to 64 of `A`–`Z`, `a`–`z`, `0`–`9`, `_` and `-`.
  @inlinable
  public static func isSpace(_ name: some StringProtocol) -> Bool {
    (1...RelayLimits.spaceBytes).contains(name.utf8.count) && name.utf8.allSatisfy(isWord)
  }

  /// Whether a text has the form of a token.
  @inlinable
  public static func isToken(_ text: some StringProtocol) -> Bool {
    text.hasPrefix(tokenPrefix) && text.utf8.count == tokenPrefix.utf8.count + tokenCharacters
      && text.utf8.allSatisfy(isWord)
  }

  @usableFromInline
  static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "-"): true
    default: false
    }
  }
}
