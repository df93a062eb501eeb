import Foundation
import GRDB
import TallyCRDT

/// Compares what a record type writes with its schema, so that a property that fits no column shows when the store is
/// opened and not at the first insert.
///
/// A record is made up by decoding it from nothing: zeros, empty texts, nulls for optionals. What it would write into
/// its row then says the columns and their storage classes, whatever encodes it. A type that cannot be made up, such as
/// one with a property of a type that refuses an empty text, is not compared.
package enum RecordShape {
  /// - Throws: `StoreError.invalidSchema` that names the property.
  package static func check(_ type: any Entity.Type) throws(StoreError) {
    guard let record = try? (type as? any Decodable.Type)?.init(from: BlankDecoder()),
      let encodable = record as? any EncodableRecord, let written = try? encodable.databaseDictionary
    else { return }
    for (column, value) in written.sorted(by: { $0.key < $1.key }) {
      if let reason = mismatch(column, value, type.schema) {
        throw StoreError(.invalidSchema, "\(String(describing: type)).\(column) \(reason)")
      }
    }
  }

  private static func mismatch(_ column: String, _ value: DatabaseValue, _ schema: EntitySchema) -> String? {
    func `is`(_ name: String) -> Bool { name.lowercased() == column.lowercased() }
    let wanted: String
    if `is`("id") || schema.references.contains(where: { `is`($0.name) }) {
      wanted = "TEXT"
    } else if let field = schema.fields.first(where: { `is`($0.name) }) {
      wanted = field.kind.columnType
    } else {
      return "is no column: the schema of \(schema.type) has no such field or reference; "
        + "declare it there, or leave it out of what the record writes"
    }
    let stored: String
    switch value.storage {
    case .null: return nil
    case .int64: stored = "INTEGER"
    case .double: stored = "REAL"
    case .string: stored = "TEXT"
    case .blob: stored = "BLOB"
    }
    // SQLite stores a whole number in a REAL column as one.
    guard stored != wanted, !(stored == "INTEGER" && wanted == "REAL") else { return nil }
    let hint = wanted == "TEXT" && stored == "BLOB" && (`is`("id") || !schema.fields.contains { `is`($0.name) })
    return "is written as \(stored), and the column is \(wanted)"
      + (hint
        ? "; declare it as a RecordName, for example RecordName<\(schema.type)>"
        : "; change the property's type, or the kind of the field")
  }
}

/// Decodes anything from nothing.
private struct BlankDecoder: Decoder {
  var codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(BlankProperties<Key>(codingPath: codingPath))
  }

  func unkeyedContainer() -> any UnkeyedDecodingContainer { BlankElements(codingPath: codingPath) }
  func singleValueContainer() -> any SingleValueDecodingContainer { BlankValue(codingPath: codingPath) }

  /// A value of a type: that of a number is 0, that of a text is empty.
  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let known: [Any] = [
      Date(timeIntervalSince1970: 0), Data(), UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), Decimal(0),
    ]
    if let position = ListPosition(bytes: [1]) as? T { return position }
    for value in known { if let value = value as? T { return value } }
    if let name = try (type as? any BlankRecordName.Type)?.blank() as? T { return name }
    if let first = (type as? any CaseIterable.Type)?.first as? T { return first }
    // The app's initializer may force-unwrap a URL, and an empty text is not one.
    guard type != URL.self else { throw none }
    return try T(from: self)
  }

  var none: DecodingError { .dataCorrupted(.init(codingPath: codingPath, debugDescription: "nothing to decode")) }
}

extension CaseIterable {
  fileprivate static var first: Self? { allCases.first }
}

/// A name that can be made up.
private protocol BlankRecordName {
  static func blank() throws -> Self
}

extension RecordName: BlankRecordName {
  fileprivate static func blank() throws -> RecordName<Record> { RecordName() }
}

extension AnyRecordName: BlankRecordName {
  fileprivate static func blank() throws -> AnyRecordName { try AnyRecordName("A|~|a") }
}

private struct BlankProperties<Key: CodingKey>: KeyedDecodingContainerProtocol {
  var codingPath: [any CodingKey]
  var allKeys: [Key] { [] }

  private func decoder(_ key: Key) -> BlankDecoder { BlankDecoder(codingPath: codingPath + [key]) }

  func contains(_ key: Key) -> Bool { true }
  func decodeNil(forKey key: Key) -> Bool { true }
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try decoder(key).decode(type) }
  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) -> T? { nil }
  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedDecodingContainer<Nested>
  {
    decoder(key).container(keyedBy: type)
  }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer { decoder(key).unkeyedContainer() }
  func superDecoder() -> any Decoder { BlankDecoder(codingPath: codingPath) }
  func superDecoder(forKey key: Key) -> any Decoder { decoder(key) }
}

private struct BlankElements: UnkeyedDecodingContainer {
  var codingPath: [any CodingKey]
  var count: Int? { 0 }
  var isAtEnd: Bool { true }
  var currentIndex: Int { 0 }

  private var decoder: BlankDecoder { BlankDecoder(codingPath: codingPath) }

  func decodeNil() throws -> Bool { throw decoder.none }
  func decode<T: Decodable>(_ type: T.Type) throws -> T { throw decoder.none }
  func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    throw decoder.none
  }
  func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { throw decoder.none }
  func superDecoder() throws -> any Decoder { throw decoder.none }
}

private struct BlankValue: SingleValueDecodingContainer {
  var codingPath: [any CodingKey]

  func decodeNil() -> Bool { true }
  func decode(_ type: Bool.Type) -> Bool { false }
  func decode(_ type: String.Type) -> String { "" }
  func decode(_ type: Double.Type) -> Double { 0 }
  func decode(_ type: Float.Type) -> Float { 0 }
  func decode(_ type: Int.Type) -> Int { 0 }
  func decode(_ type: Int8.Type) -> Int8 { 0 }
  func decode(_ type: Int16.Type) -> Int16 { 0 }
  func decode(_ type: Int32.Type) -> Int32 { 0 }
  func decode(_ type: Int64.Type) -> Int64 { 0 }
  func decode(_ type: UInt.Type) -> UInt { 0 }
  func decode(_ type: UInt8.Type) -> UInt8 { 0 }
  func decode(_ type: UInt16.Type) -> UInt16 { 0 }
  func decode(_ type: UInt32.Type) -> UInt32 { 0 }
  func decode(_ type: UInt64.Type) -> UInt64 { 0 }
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try BlankDecoder(codingPath: codingPath).decode(type) }
}
