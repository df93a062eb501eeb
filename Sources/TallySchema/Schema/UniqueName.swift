import TallyCRDT
import TallyWire

/// What a record shows instead of a text that another one holds: the text and a few letters that follow from the
/// record's name, so that they are the same on every device. People hardly type such letters, as they do numbers.
package enum UniqueName {
  /// How many letters are tried, the fewest first.
  static let lengths = [4, 8, 26]
  private static let separator = " ~"
  private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

  /// The letters of a record: base32 (RFC 4648, in small letters) of the SHA-1 of its name.
  static func letters(of name: AnyRecordName) -> [UInt8] {
    var (letters, rest, bits): ([UInt8], UInt32, UInt32) = ([], 0, 0)
    for byte in SHA1.hash(Array(name.text.utf8)) {
      (rest, bits) = (rest << 8 | UInt32(byte), bits + 8)
      while bits >= 5 {
        letters.append(alphabet[Int(rest >> (bits - 5) & 31)])
        bits -= 5
      }
      rest &= 1 << bits - 1
    }
    return letters
  }

  /// The first of a record's texts that is not taken.
  ///
  /// There is always one: the longest is made longer until it is free.
  package static func first(
    for value: String, of name: AnyRecordName, where isTaken: (String) throws -> Bool
  ) rethrows -> String {
    let letters = letters(of: name)
    var candidate = value
    for length in lengths {
      candidate = value + separator + String(decoding: letters.prefix(length), as: UTF8.self)
      if try !isTaken(candidate) { return candidate }
    }
    let last = separator + String(decoding: letters.prefix(lengths[lengths.count - 1]), as: UTF8.self)
    while try isTaken(candidate) { candidate += last }
    return candidate
  }

  /// Whether a record shows a text that is not the first of its texts for `value`.
  package static func isLengthened(_ shown: String, for value: String) -> Bool {
    shown.utf8.count != value.utf8.count + separator.utf8.count + lengths[0]
  }

  /// The text for which another one could be what a record shows instead; nil if there is none.
  package static func value(behind text: String) -> String? {
    let bytes = Array(text.utf8)
    for length in lengths where bytes.count >= length + separator.utf8.count {
      let end = bytes.count - length
      guard bytes[end...].allSatisfy(alphabet.contains), bytes[..<end].suffix(2).elementsEqual(separator.utf8) else {
        continue
      }
      return String(decoding: bytes[..<(end - separator.utf8.count)], as: UTF8.self)
    }
    return nil
  }
}
