import Foundation
import GRDB
import TallyCRDT
import TallyStore
import TallyWire

/// The values of fields that came from another database.
enum ForeignValue {
  /// A value that does not fit its field.
  struct Mismatch: Error {
    /// The reason, and the remedy if there is one.
    var reason: String
    var cause: (any Error)?
  }

  /// The value for a field; null is left out, so that the field's default applies.
  static func value(
    _ value: Value, _ column: ImportColumn, for field: FieldSchema, _ external: ExternalData
  ) throws(Mismatch) -> Value {
    if value.isNull { return .null }
    let converted: Value?
    switch column.form {
    case .coreDataBlob?: converted = try content(value, for: field.kind, external)
    case let form?: converted = convert(value, from: form)
    case nil: converted = convert(value, to: field.kind)
    }
    guard let converted else {
      let form = column.form.map { " and not \($0.rawValue)" } ?? remedy(value, field.kind)
      throw Mismatch(reason: "has \(storageClass(of: value))\(form), and the field is of kind \(field.kind.rawValue)")
    }
    guard converted.byteCount <= WireLimits.valueBytes else { throw tooLarge(converted.byteCount) }
    guard field.kind.accepts(converted) else {
      throw Mismatch(reason: "has a value that is no \(field.kind.rawValue)")
    }
    if let reason = field.refusal(of: converted) { throw Mismatch(reason: reason) }
    return converted
  }

  static func tooLarge(_ byteCount: Int) -> Mismatch {
    Mismatch(reason: "has \(byteCount) bytes, and a value may have \(WireLimits.valueBytes)")
  }

  /// What Core Data has stored, in the row or beside the database.
  private static func content(
    _ value: Value, for kind: FieldKind, _ external: ExternalData
  ) throws(Mismatch) -> Value? {
    guard case .blob(let bytes) = value else { return nil }
    let content: [UInt8]
    switch try ExternalData.place(bytes) {
    case .inline(let inline): content = inline
    case .file(let name): content = try external.read(name)
    }
    guard kind == .text || kind == .json else { return .blob(content) }
    guard let text = String(validating: content, as: UTF8.self) else {
      throw Mismatch(reason: "has a BLOB that is not UTF-8, and the field is of kind \(kind.rawValue)")
    }
    return .text(text)
  }

  private static func convert(_ value: Value, to kind: FieldKind) -> Value? {
    switch (kind, value) {
    case (.text, .text), (.json, .text), (.date, .text), (.integer, .integer), (.counter, .integer), (.bool, .integer),
      (.real, .real), (.blob, .blob), (.uuid, .blob), (.position, .blob), (.asset, .text):
      return value
    case (.real, .integer(let number)): return Value(real: Double(number))
    case (.uuid, .text(let text)): return UUID(uuidString: text).map { Value($0.databaseValue) }
    default: return nil
    }
  }

  private static func convert(_ value: Value, from form: ImportColumn.Form) -> Value? {
    let number: Double? =
      switch value {
      case .integer(let number): Double(number)
      case .real(let number): number
      default: nil
      }
    switch form {
    case .unixSeconds: return number.flatMap { date(Date(timeIntervalSince1970: $0)) }
    case .unixMilliseconds: return number.flatMap { date(Date(timeIntervalSince1970: $0 / 1000)) }
    case .coreDataSeconds: return number.flatMap { date(Date(timeIntervalSinceReferenceDate: $0)) }
    case .utf8:
      guard case .blob(let bytes) = value else { return nil }
      return String(validating: bytes, as: UTF8.self).map(Value.text)
    // They need the files beside the database.
    case .coreDataBlob, .path: return nil
    }
  }

  /// A date as GRDB writes it, from `Date.distantPast`, which is in the year 1, to the year 9999.
  private static func date(_ date: Date) -> Value? {
    (-62_135_769_600..<253_402_300_800).contains(date.timeIntervalSince1970) ? Value(date.databaseValue) : nil
  }

  private static func storageClass(of value: Value) -> String {
    switch value {
    case .null: "null"
    case .integer: "an INTEGER"
    case .real: "a REAL"
    case .text: "a TEXT"
    case .blob: "a BLOB"
    }
  }

  private static func remedy(_ value: Value, _ kind: FieldKind) -> String {
    switch (kind, value) {
    case (.date, .integer), (.date, .real):
      " (say what the number counts, such as \"as\": \"unixSeconds\" or \"coreDataSeconds\")"
    case (.text, .blob(let bytes)), (.json, .blob(let bytes)):
      if bytes.starts(with: "bplist".utf8) || bytes.dropFirst().starts(with: "bplist".utf8) {
        " (a property list, which a field of kind blob takes as it is)"
      } else if bytes.first == 1 || ExternalData.fileName(bytes) != nil {
        " (\"as\": \"coreDataBlob\" reads what Core Data may have put into a file)"
      } else {
        " (\"as\": \"utf8\" reads it as text)"
      }
    default: " (an expression can convert it: \"sql\": \"CAST(… AS …)\")"
    }
  }
}
