import Tally

/// Reads one JSON value (RFC 8259). Strict: no comments, no repeated keys, no lone surrogates, nothing after the value.
struct JSONParser {
  private static let depthLimit = 200
  private let bytes: [UInt8]
  private var position = 0
  private var depth = 0

  /// The value of a text.
  /// - Throws: `Failure` with the offset of what is wrong.
  static func parse(_ bytes: [UInt8]) throws -> JSON {
    var parser = JSONParser(bytes: bytes)
    let value = try parser.value()
    parser.skipSpace()
    guard parser.position == bytes.count else { throw parser.failure("something follows the value") }
    return value
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

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

  private mutating func value() throws -> JSON {
    skipSpace()
    switch current {
    case UInt8(ascii: "{"): return try nested { try $0.object() }
    case UInt8(ascii: "["): return try nested { try $0.array() }
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case .some(0x30...0x39), UInt8(ascii: "-"): return try number()
    case nil: throw failure("it ends too early")
    default: throw failure("no value begins like this")
    }
  }

  private mutating func nested(_ body: (inout JSONParser) throws -> JSON) throws -> JSON {
    depth += 1
    guard depth <= Self.depthLimit else { throw failure("nested more than \(Self.depthLimit) deep") }
    defer { depth -= 1 }
    position += 1
    return try body(&self)
  }

  private mutating func word(_ word: String, _ value: JSON) throws -> JSON {
    guard bytes[position...].starts(with: word.utf8) else { throw failure("no value begins like this") }
    position += word.utf8.count
    return value
  }

  private mutating func object() throws -> JSON {
    var members: [String: JSON] = [:]
    skipSpace()
    if take(UInt8(ascii: "}")) { return .object(members) }
    repeat {
      skipSpace()
      guard current == UInt8(ascii: "\"") else { throw failure("a key is missing") }
      let key = try string()
      skipSpace()
      guard take(UInt8(ascii: ":")) else { throw failure("a colon is missing") }
      guard members.updateValue(try value(), forKey: key) == nil else { throw failure("a key comes twice") }
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { throw failure("a brace is missing") }
    return .object(members)
  }

  private mutating func array() throws -> JSON {
    var items: [JSON] = []
    skipSpace()
    if take(UInt8(ascii: "]")) { return .array(items) }
    repeat {
      items.append(try value())
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { throw failure("a bracket is missing") }
    return .array(items)
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
    var result: [UInt8] = []
    while let byte = current {
      position += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let text = String(validating: result, as: UTF8.self) else { throw failure("a string is not valid UTF-8") }
        return text
      case UInt8(ascii: "\\"): result += try escape()
      case 0..<0x20: throw failure("a control character stands in a string")
      default: result.append(byte)
      }
    }
    throw failure("a string does not end")
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
