import Foundation
import Tally
import TallyCRDT
import TallyStore

/// The values that a column takes, and their form outside: as text on the command line and as JSON.
enum FieldType {
  case field(FieldKind)
  case reference(to: String)

  var label: String {
    switch self {
    case .field(.integer), .field(.counter): "an integer"
    case .field(.asset): "the name of an asset"
    case .field(let kind): "a \(kind.rawValue)"
    case .reference(let type): "the name of a \(type)"
    }
  }
}

extension EntitySchema {
  /// The type of a column.
  /// - Throws: `StoreError.unknownField`.
  func fieldType(_ column: String) throws -> FieldType {
    if let field = fields.first(where: { $0.name == column }) { return .field(field.kind) }
    if let reference = references.first(where: { $0.name == column }) { return .reference(to: reference.to) }
    throw StoreError(.unknownField, "\(type) has no field \(shown(column))\(hint(forField: column))")
  }
}

// MARK: - Reading

extension FieldType {
  /// The value of a text from the command line. An empty text is an empty text for text fields and null for others.
  func value(text: String) throws -> Value {
    if text.isEmpty {
      if case .field(.text) = self { return .text("") }
      return .null
    }
    guard let value = try parse(text) else { throw mismatch(shown(text)) }
    try checkPosition(value)
    return value
  }

  /// - Throws: `StoreError.typeMismatch` for a position of a size that there is not.
  private func checkPosition(_ value: Value) throws {
    guard case (.field(.position), .blob(let bytes)) = (self, value), ListPosition(bytes: bytes) == nil else { return }
    throw StoreError(
      .typeMismatch, "a position has 1 to \(ListPosition.byteLimit) bytes, and this one has \(bytes.count)")
  }

  private func parse(_ text: String) throws -> Value? {
    switch self {
    case .reference: return .text(try recordName(text).text)
    case .field(.text): return .text(text)
    case .field(.integer), .field(.counter): return Int64(text).map(Value.integer)
    case .field(.real): return Self.real(text)
    case .field(.bool): return Self.flags[text].map { .integer($0) }
    case .field(.date): return ISODate.stored(text).map(Value.text)
    case .field(.uuid): return UUID(uuidString: text).map { .blob(withUnsafeBytes(of: $0.uuid) { Array($0) }) }
    case .field(.json): return try Self.json(text)
    case .field(.asset): return AssetName(text).map { .text($0.text) }
    case .field(.blob), .field(.position): return Self.blob(text).map(Value.blob)
    }
  }

  /// The value of a JSON value.
  func value(json: JSON) throws -> Value {
    let value = try read(json)
    try checkPosition(value)
    return value
  }

  private func read(_ json: JSON) throws -> Value {
    switch (self, json) {
    case (_, .null): return .null
    case (.field(.json), .string(let text)):
      if let value = try Self.json(text) { return value }
    case (.field(.json), _): return .text(json.text)
    case (.field(.text), .string(let text)): return .text(text)
    case (.field(.integer), .number(let text)), (.field(.counter), .number(let text)),
      (.field(.real), .number(let text)):
      if let value = try parse(text) { return value }
    case (.field(.bool), .bool(let flag)): return .integer(flag ? 1 : 0)
    case (.field(.bool), .number(let text)):
      if let number = Self.flags[text] { return .integer(number) }
    case (.field(.real), .object(let members)):
      if case .string(let text)? = members["real"], members.count == 1, let value = Self.real(text) { return value }
    case (.field(.blob), .object(let members)), (.field(.uuid), .object(let members)),
      (.field(.position), .object(let members)):
      if case .string(let text)? = members["blob"], members.count == 1, let bytes = Hexadecimal.bytes(text) {
        return .blob(bytes)
      }
    case (.field(.date), .object(let members)):
      if case .string(let text)? = members["text"], members.count == 1, FieldKind.date.accepts(.text(text)) {
        return .text(text)
      }
    case (.field(.date), .string(let text)) where !ISODate.isISO(text) && FieldKind.date.accepts(.text(text)):
      return .text(text)
    case (.field(.date), .string(let text)), (.field(.uuid), .string(let text)), (.field(.blob), .string(let text)),
      (.field(.position), .string(let text)), (.field(.asset), .string(let text)), (.reference, .string(let text)):
      if let value = try parse(text) { return value }
    default: break
    }
    throw mismatch(shown(json.text))
  }

  private func mismatch(_ text: String) -> StoreError {
    let hint =
      switch self {
      case .field(.bool): "; write true or false"
      case .field(.date): "; write ISO 8601, for example 2026-02-28T09:30:00Z"
      case .field(.asset): "; write @FILE, and the file is added"
      case .field(.integer), .field(.counter): "; write a whole number from \(Int64.min) to \(Int64.max)"
      case .field(.blob), .field(.position): "; write hexadecimal digits, or base64: and Base64"
      default: ""
      }
    return StoreError(.typeMismatch, "\(text) is not \(label)\(hint)")
  }

  /// A text as it stands, if a store takes it for JSON.
  /// - Throws: `Failure` with the place of what is wrong.
  private static func json(_ text: String) throws -> Value? {
    guard !FieldKind.json.accepts(.text(text)) else { return .text(text) }
    _ = try JSONParser.parse(Array(text.utf8))
    return nil
  }

  private static let flags: [String: Int64] = ["true": 1, "1": 1, "false": 0, "0": 0]

  private static func real(_ text: String) -> Value? {
    guard let number = Double(text), !number.isNaN else { return nil }
    // A number too large for a double is a mistake, unless it says that it is infinite.
    guard number.isFinite || !text.contains(where: \.isNumber) else { return nil }
    return Value(real: number)
  }

  private static func blob(_ text: String) -> [UInt8]? {
    if text.hasPrefix("base64:") { return Data(base64Encoded: String(text.dropFirst(7))).map { Array($0) } }
    return Hexadecimal.bytes(text.hasPrefix("hex:") ? String(text.dropFirst(4)) : text)
  }
}

// MARK: - Writing

extension FieldType {
  /// The JSON of a value, which `value(json:)` reads back. A value that does not fit the type is shown as it is stored.
  func json(_ value: Value) -> JSON {
    switch (self, value) {
    case (.field(.bool), .integer(let number)) where number == 0 || number == 1: return .bool(number == 1)
    case (.field(.date), .text(let text)):
      // A text with a T that is stored as it stands would be read back as another.
      if ISODate.isISO(text) { return .object(["text": .string(text)]) }
      return .string(ISODate.stored(text) == text ? ISODate.iso(stored: text) ?? text : text)
    case (.field(.uuid), .blob(let bytes)) where bytes.count == 16: return .string(Self.uuid(bytes))
    case (.field(.json), .text(let text)):
      // What would be read back as something else, or spelt in another way, is given as the text that it is.
      guard let json = try? JSONParser.parse(Array(text.utf8), within: Self.lineDepth), json != .null, json.text == text
      else { return .string(text) }
      if case .string = json { return .string(text) }
      return json
    default: return Self.stored(value)
    }
  }

  /// How deep a value of a record is in the line that has it.
  private static let lineDepth = 4

  private static func stored(_ value: Value) -> JSON {
    switch value {
    case .null: .null
    case .integer(let number): .integer(number)
    case .real(let number): number.isFinite ? .number("\(number)") : .object(["real": .string("\(number)")])
    case .text(let text): .string(text)
    case .blob(let bytes): .object(["blob": .string(Hexadecimal.text(bytes))])
    }
  }

  /// The text of a value, which `value(text:)` reads back; nil for null and for texts that are better shown as JSON.
  func text(_ value: Value) -> String? {
    switch (self, value) {
    case (_, .null): nil
    case (.field(.bool), .integer(let number)): number == 0 ? "false" : number == 1 ? "true" : String(number)
    case (.field(.date), .text(let text)): ISODate.iso(stored: text) ?? (Self.isPlain(text) ? text : nil)
    case (.field(.uuid), .blob(let bytes)) where bytes.count == 16: Self.uuid(bytes)
    case (_, .integer(let number)): String(number)
    case (_, .real(let number)): "\(number)"
    case (_, .blob(let bytes)): Hexadecimal.text(bytes)
    case (.field(.text), .text(let text)): Self.isPlain(text) ? text : nil
    case (_, .text(let text)): Self.isPlain(text) && !text.isEmpty ? text : nil
    }
  }

  private static func isPlain(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { isPrintable($0) && (!$0.properties.isWhitespace || $0 == " ") }
  }

  private static func uuid(_ bytes: [UInt8]) -> String {
    let hex = Hexadecimal.text(bytes)
    let ends = [8, 12, 16, 20, 32]
    return zip([0] + ends, ends).map { String(hex.dropFirst($0.0).prefix($0.1 - $0.0)) }.joined(separator: "-")
  }
}

/// A record name from outside, as it stands.
func recordName(_ text: String) throws -> AnyRecordName {
  do {
    return try AnyRecordName(text)
  } catch {
    throw Failure(.badData, "\(shown(text)) is not a record name: \(error.message)")
  }
}
