import Tally
import TallyCRDT

/// Reads one JSON value (RFC 8259). Strict: no comments, no repeated keys, no lone surrogates, nothing after the value.
struct JSONParser {
  private static let depthLimit = 200
  private let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0
  private var depth = 0

  /// The value of a text, which may stand `within` so many others.
  /// - Throws: `Failure` with the offset of what is wrong.
  static func parse(_ bytes: [UInt8], within depth: Int = 0) throws -> JSON {
    try read(bytes) {
      $0.depth = depth
      return try $0.value()
    }
  }

  /// Reads a text piece by piece, without a tree of what is in it; `body` takes all of it.
  /// - Throws: `Failure` with the offset of what is wrong; what the body throws.
  static func read<T>(_ bytes: [UInt8], _ body: (inout JSONParser) throws -> T) throws -> T {
    try bytes.withUnsafeBufferPointer { bytes in
      var parser = JSONParser(bytes: bytes)
      let value = try body(&parser)
      parser.skipSpace()
      guard parser.position == bytes.count else { throw parser.failure("something follows the value") }
      return value
    }
  }

  private init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  private func failure(_ what: String) -> Failure {
    Failure(.badData, "not valid JSON: \(what) (byte \(position + 1))")
  }

  private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpace() {
    while let byte = current, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard current == byte else { return false }
    position += 1
    return true
  }

  /// The next value.
  mutating func value() throws -> JSON {
    skipSpace()
    switch current {
    case UInt8(ascii: "{"): return try object()
    case UInt8(ascii: "["): return try array()
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case .some(0x30...0x39), UInt8(ascii: "-"): return try number()
    case nil: throw failure("it ends too early")
    default: throw failure("no value begins like this")
    }
  }

  private mutating func nested(_ body: (inout JSONParser) throws -> Void) throws {
    depth += 1
    guard depth <= Self.depthLimit else { throw failure("nested more than \(Self.depthLimit) deep") }
    defer { depth -= 1 }
    position += 1
    try body(&self)
  }

  private mutating func word(_ word: String, _ value: JSON) throws -> JSON {
    guard UnsafeBufferPointer(rebasing: bytes[position...]).starts(with: word.utf8) else {
      throw failure("no value begins like this")
    }
    position += word.utf8.count
    return value
  }

  private mutating func object() throws -> JSON {
    var members: [String: JSON] = [:]
    try forEachMember { parser, key in
      guard members.updateValue(try parser.value(), forKey: key) == nil else { throw parser.repeatedKey }
    }
    return .object(members)
  }

  private mutating func array() throws -> JSON {
    var items: [JSON] = []
    try forEachItem { items.append(try $0.value()) }
    return .array(items)
  }

  /// Says that a key of an object comes twice, which is for the reader of the members to notice.
  var repeatedKey: Failure { failure("a key comes twice") }

  /// The first byte of the next value, which is left unread.
  mutating func next() -> UInt8? {
    skipSpace()
    return current
  }

  /// Reads an object, which begins here: `body` takes the value of each key.
  mutating func forEachMember(_ body: (inout JSONParser, String) throws -> Void) throws {
    try nested { parser in
      if parser.next() == UInt8(ascii: "}") {
        parser.position += 1
        return
      }
      repeat {
        guard parser.next() == UInt8(ascii: "\"") else { throw parser.failure("a key is missing") }
        let key = try parser.string()
        parser.skipSpace()
        guard parser.take(UInt8(ascii: ":")) else { throw parser.failure("a colon is missing") }
        try body(&parser, key)
        parser.skipSpace()
      } while parser.take(UInt8(ascii: ","))
      guard parser.take(UInt8(ascii: "}")) else { throw parser.failure("a brace is missing") }
    }
  }

  /// Reads a list, which begins here: `body` takes each item.
  mutating func forEachItem(_ body: (inout JSONParser) throws -> Void) throws {
    try nested { parser in
      if parser.next() == UInt8(ascii: "]") {
        parser.position += 1
        return
      }
      repeat {
        try body(&parser)
        parser.skipSpace()
      } while parser.take(UInt8(ascii: ","))
      guard parser.take(UInt8(ascii: "]")) else { throw parser.failure("a bracket is missing") }
    }
  }

  private mutating func digits() -> Int {
    let start = position
    while let byte = current, (0x30...0x39).contains(byte) { position += 1 }
    return position - start
  }

  private mutating func number() throws -> JSON {
    let start = position
    _ = take(UInt8(ascii: "-"))
    let startsWithZero = current == UInt8(ascii: "0")
    let count = digits()
    guard count > 0, !startsWithZero || count == 1 else { throw failure("a number is malformed") }
    if take(UInt8(ascii: ".")), digits() == 0 { throw failure("a number is malformed") }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      if !take(UInt8(ascii: "-")) { _ = take(UInt8(ascii: "+")) }
      guard digits() > 0 else { throw failure("a number is malformed") }
    }
    return .number(String(decoding: bytes[start..<position], as: UTF8.self))
  }

  // MARK: Strings

  private mutating func string() throws -> String {
    position += 1
    let start = position
    // Most strings have no escapes, and are taken as they stand.
    while let byte = current, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { position += 1 }
    let plain = UnsafeBufferPointer(rebasing: bytes[start..<position])
    if current == UInt8(ascii: "\"") {
      position += 1
      return try text(plain)
    }
    var result = Array(plain)
    while let byte = current {
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return try result.withUnsafeBufferPointer(text)
      case UInt8(ascii: "\\"): result += try escape()
      case 0..<0x20: throw failure("a control character stands in a string")
      default: result.append(byte)
      }
    }
    throw failure("a string does not end")
  }

  private func text(_ bytes: UnsafeBufferPointer<UInt8>) throws -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw failure("a string is not valid UTF-8") }
    return text
  }

  private mutating func escape() throws -> [UInt8] {
    guard let byte = current else { throw failure("a string does not end") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "f"): return [0x0C]
    case UInt8(ascii: "n"): return [0x0A]
    case UInt8(ascii: "r"): return [0x0D]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "u"): return Array(String(Character(try scalar())).utf8)
    default: throw failure("an escape is unknown")
    }
  }

  private mutating func scalar() throws -> Unicode.Scalar {
    var code = try hexadecimal()
    if (0xD800..<0xDC00).contains(code) {
      guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw failure("a surrogate stands alone") }
      let low = try hexadecimal()
      guard (0xDC00..<0xE000).contains(low) else { throw failure("a surrogate stands alone") }
      code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
    }
    guard let scalar = Unicode.Scalar(code) else { throw failure("a surrogate stands alone") }
    return scalar
  }

  private mutating func hexadecimal() throws -> UInt32 {
    guard position + 4 <= bytes.count else { throw failure("an escape ends too early") }
    var code: UInt32 = 0
    for byte in bytes[position..<position + 4] {
      guard let digit = Hexadecimal.value(of: byte) else { throw failure("an escape is malformed") }
      code = code << 4 | UInt32(digit)
    }
    position += 4
    return code
  }
}
