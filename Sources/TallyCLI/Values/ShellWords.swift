/// Splits a line into words as a shell does: spaces separate, `'…'` is taken as it is, in `"…"` and outside quotes a
/// backslash takes the next character as it is.
///
/// What has a meaning is ASCII, so bytes do: in UTF-8 they stand for nothing else.
struct ShellWords {
  private var rest: ArraySlice<UInt8>

  /// The words of a line.
  /// - Throws: `Failure` if a quote or a backslash has no end.
  static func split(_ line: String) throws -> [String] {
    var reader = ShellWords(rest: Array(line.utf8)[...])
    var words: [String] = []
    while let word = try reader.word() { words.append(String(decoding: word, as: UTF8.self)) }
    return words
  }

  private mutating func word() throws -> [UInt8]? {
    rest = rest.drop { Self.isSpace($0) }
    guard !rest.isEmpty else { return nil }
    var word: [UInt8] = []
    while let byte = rest.first, !Self.isSpace(byte) {
      rest.removeFirst()
      switch byte {
      case UInt8(ascii: "'"), UInt8(ascii: "\""): word += try quoted(byte)
      case UInt8(ascii: "\\"):
        guard let next = rest.popFirst() else { throw Failure(.badData, "nothing follows the last backslash") }
        word.append(next)
      default: word.append(byte)
      }
    }
    return word
  }

  private mutating func quoted(_ mark: UInt8) throws -> [UInt8] {
    let backslash = UInt8(ascii: "\\")
    var result: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == mark { return result }
      guard mark == UInt8(ascii: "\""), byte == backslash else {
        result.append(byte)
        continue
      }
      guard let next = rest.popFirst() else { break }
      // As in a shell, the backslash stays unless it protects something.
      if next != mark && next != backslash { result.append(backslash) }
      result.append(next)
    }
    throw Failure(.badData, "a quote does not end")
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
