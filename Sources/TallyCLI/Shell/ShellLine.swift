import Tally

/// One line of a shell: the command, and its words to take one by one.
struct ShellLine {
  let command: String
  private var rest: ArraySlice<String>

  /// - Throws: `Failure` if the line is no text, has a quote without an end, or is empty.
  init(_ line: LineReader.Line) throws {
    let words = try ShellWords.split(try line.text())
    guard let first = words.first else { throw Failure(.usage, "the line is empty; which command?") }
    command = first
    rest = words.dropFirst()
  }

  /// The next word, which must be there.
  mutating func word(_ what: String) throws -> String {
    guard let word = rest.popFirst() else { throw Failure(.usage, "\(shown(command)) needs \(what)") }
    return word
  }

  /// The next word, if there is one.
  mutating func optionalWord() -> String? { rest.popFirst() }

  /// The next word, which must be a record's name.
  mutating func name() throws -> AnyRecordName { try recordName(word("a record's name")) }

  /// The next word, which must be a number that is not negative.
  mutating func number(_ what: String) throws -> UInt64 {
    let text = try word(what)
    guard let number = UInt64(text) else { throw Failure(.usage, "\(shown(text)) is not \(what)") }
    return number
  }

  /// All words that are left.
  mutating func remaining() -> [String] {
    defer { rest = [] }
    return Array(rest)
  }

  /// - Throws: `Failure` if a word is left: nothing that was said is ignored.
  func end() throws {
    if let word = rest.first { throw Failure(.usage, "\(shown(command)) takes no \(shown(word)) there") }
  }
}
