/// How large a query is once SQLite has put the queries of WITH in the place of their names.
///
/// SQLite does so for each mention before it runs anything, and while it does nobody can end it: twenty tables, each of
/// which joins the one before it with itself, are a million. Only names where tables stand are counted, after FROM,
/// JOIN and IN, commas and parentheses, so that columns of the same name seldom are.
/// https://sqlite.org/lang_with.html
struct QueryExpansion {
  /// The most mentions that are compiled, which takes some tenths of a second.
  static let limit = 10_000

  private enum Token: Equatable {
    /// A word or a name in quotes, in lower case.
    case word(String)
    case mark(Character)
  }

  private let tokens: [Token]
  /// The places of the tokens in the parentheses of each table of WITH, by name; several where names are used again.
  private var bodies: [String: [Range<Int>]] = [:]
  private var sizes: [String: Int] = [:]

  init(_ sql: String) {
    tokens = Self.tokens(of: sql)
    findBodies()
  }

  /// About how many tables the whole has; at most a little more than `limit`.
  mutating func count() -> Int {
    let inner = Set(bodies.values.joined().flatMap { $0 })
    return size(tokens.indices.lazy.filter { !inner.contains($0) })
  }

  /// `name AS (`, also with columns after the name and MATERIALIZED before the parenthesis.
  private mutating func findBodies() {
    for place in tokens.indices where tokens[place] == .word("as") {
      var open = place + 1
      while open < tokens.count, [.word("not"), .word("materialized")].contains(tokens[open]) { open += 1 }
      guard open < tokens.count, tokens[open] == .mark("("), let name = name(before: place) else { continue }
      bodies[name, default: []].append(open + 1..<end(of: open))
    }
  }

  private func name(before place: Int) -> String? {
    var last = place - 1
    if last >= 0, tokens[last] == .mark(")") {
      while last >= 0, tokens[last] != .mark("(") { last -= 1 }
      last -= 1
    }
    guard last >= 0, case .word(let name) = tokens[last] else { return nil }
    return name
  }

  /// The place of the parenthesis that closes one; the end if none does.
  private func end(of open: Int) -> Int {
    var depth = 0
    for place in open..<tokens.count {
      if tokens[place] == .mark("(") { depth += 1 }
      if tokens[place] == .mark(")") { depth -= 1 }
      if depth == 0 { return place }
    }
    return tokens.count
  }

  private mutating func size(_ places: some Sequence<Int>) -> Int {
    var sum = 1
    for place in places where sum <= Self.limit {
      guard case .word(let name) = tokens[place], bodies[name] != nil, isTable(place) else { continue }
      sum += size(of: name)
    }
    return sum
  }

  private mutating func size(of name: String) -> Int {
    if let known = sizes[name] { return known }
    // A table that mentions itself is recursive, and is not put in its own place.
    sizes[name] = 1
    var largest = 1
    for body in bodies[name] ?? [] { largest = max(largest, size(body)) }
    sizes[name] = largest
    return largest
  }

  private func isTable(_ place: Int) -> Bool {
    let next = place + 1 < tokens.count ? tokens[place + 1] : .mark(";")
    guard place > 0, next != .mark("."), next != .mark("(") else { return false }
    return [.word("from"), .word("join"), .word("in"), .mark(","), .mark("(")].contains(tokens[place - 1])
  }

  // MARK: Reading

  /// https://sqlite.org/lang_keywords.html
  private static let quotes: [Character: Character] = ["\"": "\"", "'": "'", "`": "`", "[": "]"]

  private static func tokens(of sql: String) -> [Token] {
    var (tokens, rest) = ([Token](), sql[...])
    while let first = rest.first {
      if rest.hasPrefix("--") {
        rest = rest.drop { $0 != "\n" && $0 != "\r\n" }
      } else if rest.hasPrefix("/*") {
        rest = rest.firstRange(of: "*/").map { rest[$0.upperBound...] } ?? ""
      } else if let close = quotes[first] {
        // A doubled quote is read as the end of one name and the start of another; neither is counted.
        let inner = rest.dropFirst().prefix { $0 != close }
        tokens.append(.word(inner.lowercased()))
        rest = rest.dropFirst(inner.count + 2)
      } else if isWord(first) {
        let word = rest.prefix(while: isWord)
        tokens.append(.word(word.lowercased()))
        rest = rest.dropFirst(word.count)
      } else {
        if !first.isWhitespace { tokens.append(.mark(first)) }
        rest = rest.dropFirst()
      }
    }
    return tokens
  }

  private static func isWord(_ character: Character) -> Bool {
    character == "_" || character == "$" || character.isLetter || character.isNumber || !character.isASCII
  }
}
