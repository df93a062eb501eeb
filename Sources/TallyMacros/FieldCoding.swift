#if Macros
  import Foundation
  import GRDB
  import TallyCRDT
  import TallyStore

  /// The encoding of values of one type in a column.
  struct FieldCoding<Value: Sendable>: Sendable {
    let kind: FieldKind
    /// Nil for what is no value of the type.
    let decode: @Sendable (DatabaseValue) -> Value?
    let encode: @Sendable (Value) throws -> DatabaseValue

    /// Whether a column of this kind has a default of its own. A date, bytes, a UUID and JSON are null until they are
    /// written, and the property's default is what such a null reads as.
    var takesDefault: Bool {
      switch kind {
      case .text, .integer, .real, .bool, .counter: true
      case .date, .blob, .uuid, .json, .asset, .position: false
      }
    }

    /// A default as the schema has it.
    func stored(_ value: Value) -> TallyCRDT.Value {
      // Only kinds whose coding does not throw come here; a value that cannot be encoded is no default.
      guard let stored = try? encode(value) else { return .null }
      return switch stored.storage {
      case .null: .null
      case .int64(let number): .integer(number)
      case .double(let number): TallyCRDT.Value(real: number)
      case .string(let text): .text(text)
      case .blob(let data): .blob([UInt8](data))
      }
    }
  }

  extension FieldCoding where Value: FieldValue {
    /// As GRDB keeps it.
    static func plain() -> Self {
      Self(kind: Value.fieldKind, decode: { Value.fromDatabaseValue($0) }, encode: { $0.databaseValue })
    }
  }

  extension FieldCoding where Value: RawRepresentable, Value.RawValue: FieldValue {
    /// By raw value.
    static func raw() -> Self {
      Self(
        kind: Value.RawValue.fieldKind,
        decode: { Value.RawValue.fromDatabaseValue($0).flatMap(Value.init(rawValue:)) },
        encode: { $0.rawValue.databaseValue })
    }
  }

  extension FieldCoding where Value: Codable {
    /// As JSON, by the record's own coders, as GRDB keeps what `Codable` records hold.
    static func json<Record: FetchableRecord & EncodableRecord>(in record: Record.Type, _ column: String) -> Self {
      Self(
        kind: .json,
        decode: { stored in
          guard let data = Data.fromDatabaseValue(stored) else { return nil }
          // What is no JSON of this type reads as the default, and the column that reads it says so.
          return try? Record.databaseJSONDecoder(for: column).decode(Value.self, from: data)
        },
        encode: { value in
          let data = try Record.databaseJSONEncoder(for: column).encode(value)
          return String(decoding: data, as: UTF8.self).databaseValue
        })
    }
  }
#endif
