/// The words and marks of a query, without comments and spaces, as far as `QueryExpansion` has to tell them apart.
///
/// Quotes stand twice where they are meant themselves. https://sqlite.org/lang_keywords.html
enum QueryToken: Equatable {
  /// A keyword, number or name, in lower case.
  case word(String)
  /// A name in quotes, in lower case.
  case name(String)
  /// A text in single quotes, which SQLite takes for a name where only a name can stand, in lower case.
  case text(String)
  /// A sign, as its byte.
  case mark(UInt8)

  static let open = QueryToken.mark(UInt8(ascii: "("))
  static let close = QueryToken.mark(UInt8(ascii: ")"))
  static let comma = QueryToken.mark(UInt8(ascii: ","))
  static let dot = QueryToken.mark(UInt8(ascii: "."))
  static let star = QueryToken.mark(UInt8(ascii: "*"))

  /// What it can name; nil for a mark.
  var text: String? {
    switch self {
    case .word(let text), .name(let text), .text(let text): text
    case .mark: nil
    }
  }

  /// The tokens of a query, in order.
  static func all(of sql: String) -> [QueryToken] {
    var reader = Reader(bytes: Array(sql.utf8))
    var tokens: [QueryToken] = []
    while let token = reader.next() { tokens.append(token) }
    return tokens
  }

  private struct Reader {
    let bytes: [UInt8]
    var place = 0

    mutating func next() -> QueryToken? {
      while place < bytes.count {
        switch bytes[place] {
        case UInt8(ascii: "-") where follows(UInt8(ascii: "-")): skipLine()
        case UInt8(ascii: "/") where follows(UInt8(ascii: "*")): skipComment()
        case UInt8(ascii: "'"): return .text(quoted(UInt8(ascii: "'"), isDoubled: true))
        case let quote where quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "`"):
          return .name(quoted(quote, isDoubled: true))
        case UInt8(ascii: "["): return .name(quoted(UInt8(ascii: "]"), isDoubled: false))
        case let byte where Self.isWord(byte): return .word(word())
        case let byte:
          place += 1
          // Space, tab, the two ends of a line, and form feed are all that SQLite passes over.
          if ![9, 10, 12, 13, 32].contains(byte) { return .mark(byte) }
        }
      }
      return nil
    }

    private func follows(_ byte: UInt8) -> Bool { place + 1 < bytes.count && bytes[place + 1] == byte }

    private mutating func skipLine() { while place < bytes.count, bytes[place] != 10 { place += 1 } }

    private mutating func skipComment() {
      place += 2
      while place < bytes.count, !(bytes[place] == UInt8(ascii: "*") && follows(UInt8(ascii: "/"))) { place += 1 }
      place += 2
    }

    private mutating func quoted(_ end: UInt8, isDoubled: Bool) -> String {
      var inner: [UInt8] = []
      place += 1
      while place < bytes.count {
        if bytes[place] == end {
          guard isDoubled, follows(end) else { break }
          place += 1
        }
        inner.append(bytes[place])
        place += 1
      }
      place += 1
      return String(decoding: inner, as: UTF8.self).lowercased()
    }

    private mutating func word() -> String {
      let start = place
      while place < bytes.count, Self.isWord(bytes[place]) { place += 1 }
      return String(decoding: bytes[start..<place], as: UTF8.self).lowercased()
    }

    private static func isWord(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), UInt8(ascii: "$"), 128...:
        true
      default: false
      }
    }
  }
}
