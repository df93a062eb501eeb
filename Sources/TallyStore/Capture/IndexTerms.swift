/// The terms of an index, out of its definition: SQLite tells the columns of an index, but not its expressions.
enum IndexTerms {
  /// - Parameter sql: `CREATE INDEX … ON table(term, …)`, as SQLite keeps it.
  /// - Returns: each term without ASC or DESC; empty if this is no definition of an index.
  static func parse(_ sql: String) -> [String] {
    var terms: [String] = []
    var term = ""
    var depth = 0
    for token in tokens(sql) {
      switch (token, depth) {
      case ("(", _):
        if depth > 0 { term += token }
        depth += 1
      case (")", 1):
        terms.append(withoutOrder(term))
        return terms
      case (")", _):
        depth -= 1
        term += token
      case (",", 1):
        terms.append(withoutOrder(term))
        term = ""
      default: if depth > 0 { term += token }
      }
    }
    return []
  }

  private static func withoutOrder(_ term: String) -> String {
    var term = trimmed(term[...])
    let word = term.reversed().prefix { $0.isLetter || $0 == "_" }.count
    // A column of that name would be quoted.
    if word < term.count, ["asc", "desc"].contains(term.suffix(word).lowercased()) {
      term = trimmed(term.dropLast(word))
    }
    return String(term)
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text.drop { $0 == " " }
    while text.last == " " { text.removeLast() }
    return text
  }

  /// Parentheses and commas by themselves, what is quoted as it is, white space and comments as single spaces.
  private static func tokens(_ sql: String) -> [String] {
    var tokens: [String] = []
    var rest = Substring(sql)
    func take(_ count: Int) -> String {
      defer { rest = rest.dropFirst(count) }
      return String(rest.prefix(count))
    }
    while let first = rest.first {
      switch first {
      case "'", "\"", "`", "[":
        tokens.append(take(quoted(rest, until: first == "[" ? "]" : first)))
      case "-" where rest.hasPrefix("--"):
        rest = rest.drop { $0 != "\n" }
      case "/" where rest.hasPrefix("/*"):
        rest = rest.firstRange(of: "*/").map { rest[$0.upperBound...] } ?? ""
        tokens.append(" ")
      case _ where first.isWhitespace:
        rest = rest.drop(while: \.isWhitespace)
        tokens.append(" ")
      default: tokens.append(take(1))
      }
    }
    return tokens
  }

  /// How many characters what is quoted has. A doubled quotation mark begins another one at once, which is as well.
  private static func quoted(_ text: Substring, until end: Character) -> Int {
    guard let last = text.dropFirst().firstIndex(of: end) else { return text.count }
    return text.distance(from: text.startIndex, to: last) + 1
  }
}
