/// Splits a line into words as a shell does: spaces separate, `'…'` is taken as it is, in `"…"` and outside quotes a backslash
/// takes the next character as it is.
enum ShellWords {
  static func split(_ line: String) throws -> [String] {
    var words: [String] = []
    var word: String?
    var scalars = line.unicodeScalars.makeIterator()
    while let scalar = scalars.next() {
      switch scalar {
      case " ", "\t":
        if let done = word { words.append(done) }
        word = nil
      case "'", "\"":
        word = (word ?? "") + (try quoted(scalar, &scalars))
      case "\\":
        guard let next = scalars.next() else { throw Failure(.badData, "nothing follows the last backslash") }
        word = (word ?? "") + String(Character(next))
      default: word = (word ?? "") + String(Character(scalar))
      }
    }
    if let done = word { words.append(done) }
    return words
  }

  private static func quoted(
    _ mark: Unicode.Scalar, _ scalars: inout String.UnicodeScalarView.Iterator
  ) throws -> String {
    var result = String.UnicodeScalarView()
    while let scalar = scalars.next() {
      if scalar == mark { return String(result) }
      guard mark == "\"", scalar == "\\" else {
        result.append(scalar)
        continue
      }
      guard let next = scalars.next() else { break }
      // As in a shell, the backslash stays unless it protects something.
      if next != "\"" && next != "\\" { result.append(scalar) }
      result.append(next)
    }
    throw Failure(.badData, "a quote does not end")
  }
}
