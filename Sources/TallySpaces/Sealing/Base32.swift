#if Spaces
  /// Base32 without padding, in small letters (RFC 4648, section 6): names of files have no cases on some drives.
  enum Base32 {
    private static let digits = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

    static func text(_ bytes: [UInt8]) -> String {
      var (result, rest, count): ([UInt8], UInt32, Int) = ([], 0, 0)
      for byte in bytes {
        (rest, count) = (rest << 8 | UInt32(byte), count + 8)
        while count >= 5 {
          count -= 5
          result.append(digits[Int(rest >> UInt32(count) & 31)])
        }
        rest &= (1 << UInt32(count)) - 1
      }
      if count > 0 { result.append(digits[Int(rest << UInt32(5 - count) & 31)]) }
      return String(decoding: result, as: UTF8.self)
    }

    /// The bytes of digits in either case; nil for any text that `text(_:)` does not write.
    static func bytes(_ text: some StringProtocol) -> [UInt8]? {
      var (result, rest, count): ([UInt8], UInt32, Int) = ([], 0, 0)
      for digit in text.utf8 {
        let value: UInt8
        switch digit {
        case 0x61...0x7A: value = digit - 0x61
        case 0x41...0x5A: value = digit - 0x41
        case 0x32...0x37: value = digit - 0x32 + 26
        default: return nil
        }
        (rest, count) = (rest << 5 | UInt32(value), count + 5)
        if count >= 8 {
          count -= 8
          result.append(UInt8(truncatingIfNeeded: rest >> UInt32(count)))
          rest &= (1 << UInt32(count)) - 1
        }
      }
      guard rest == 0, count < 5 else { return nil }
      return result
    }
  }
#endif
