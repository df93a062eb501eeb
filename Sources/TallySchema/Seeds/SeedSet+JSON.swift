import Foundation
import TallyCRDT

/// The file of a seed set:
///
/// ```json
/// {"name":"speech-types","version":2,
///  "records":[{"key":"toast","type":"SpeechType","fields":{"name":"Toast","seconds":120},
///              "references":{"category":"short"},"relationships":{"tags":["a"]}}],
///  "retired":[{"key":"roast","type":"SpeechType"}],
///  "adoptions":[{"type":"SpeechType","matching":["name"],"present":["createdAt"],"absent":["updatedAt"]}]}
/// ```
///
/// `name`, `version`, `key`, `type` and `matching` must be there; what is empty may be missing. Values are what the
/// columns hold, as in a dump: a number, a text, null, `{"blob":"<hex>"}`, `{"real":"inf"}`; true and false are 1 and
/// 0. A number without a fraction is an integer, and a real where the field is one. So a set has one identity, written
/// in Swift or read from a file.
///
/// A key that means nothing is refused: it is misspelt more often than not.
extension SeedSet: Codable {
  private enum Key: String, CodingKey, CaseIterable { case name, version, records, retired, adoptions }

  /// Reads a set from JSON. ``Store/seed(_:)`` later checks whether it fits the schema.
  ///
  /// ```swift
  /// let set = try SeedSet(json: Data(contentsOf: url))
  /// try store.seed(set)
  /// ```
  /// - Throws: `StoreError.invalidSeeds`, whose message names the place of the mistake.
  public init(json: Data) throws(StoreError) {
    do {
      self = try JSONDecoder().decode(SeedSet.self, from: json)
    } catch {
      throw StoreError(.invalidSeeds, "the seed set is not readable: \(Schema.reason(error))", cause: error)
    }
  }

  /// Returns the set as JSON with sorted keys, in the form that ``init(json:)`` and `tally seed --set` read. Both forms
  /// of the set have the same identity.
  ///
  /// ```swift
  /// let set = SeedSet("speeches", version: 1, records: [SeedRecord("toast", of: SpeechType.self, ["name": "Toast"])])
  /// try set.json().write(to: url)
  /// ```
  /// - Throws: errors of encoding, which do not occur for a valid set.
  public func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(self)
  }

  /// Decodes a set from its JSON form. See `init(json:)`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.strictContainer(of: Key.self)
    self.init(
      try container.decode(String.self, forKey: .name), version: try container.decode(Int.self, forKey: .version),
      records: try container.decodeIfPresent([SeedRecord].self, forKey: .records) ?? [],
      retired: try container.decodeIfPresent([SeedKey].self, forKey: .retired) ?? [],
      adoptions: try container.decodeIfPresent([SeedAdoption].self, forKey: .adoptions) ?? [])
  }

  /// Encodes the set in its JSON form. See `json()`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(name, forKey: .name)
    try container.encode(version, forKey: .version)
    try container.encode(records, forKey: .records)
    if !retired.isEmpty { try container.encode(retired, forKey: .retired) }
    if !adoptions.isEmpty { try container.encode(adoptions, forKey: .adoptions) }
  }
}

extension SeedRecord: Codable {
  private enum Key: String, CodingKey, CaseIterable { case key, type, fields, references, relationships }

  /// Decodes a record from the JSON form of seed sets.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.strictContainer(of: Key.self)
    let fields = try container.decodeIfPresent([String: SeedValue].self, forKey: .fields) ?? [:]
    self.init(
      try container.decode(String.self, forKey: .key), type: try container.decode(String.self, forKey: .type),
      fields.mapValues(\.value),
      references: try container.decodeIfPresent([String: String].self, forKey: .references) ?? [:],
      relationships: try container.decodeIfPresent([String: [String]].self, forKey: .relationships) ?? [:])
  }

  /// Encodes the record in the JSON form of seed sets.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(key, forKey: .key)
    try container.encode(type, forKey: .type)
    if !fields.isEmpty { try container.encode(fields.mapValues(SeedValue.init), forKey: .fields) }
    if !references.isEmpty { try container.encode(references, forKey: .references) }
    if !relationships.isEmpty { try container.encode(relationships, forKey: .relationships) }
  }
}

extension SeedKey: Codable {
  private enum Key: String, CodingKey, CaseIterable { case key, type }

  /// Decodes a key from the JSON form of seed sets.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.strictContainer(of: Key.self)
    self.init(
      try container.decode(String.self, forKey: .key), type: try container.decode(String.self, forKey: .type))
  }

  /// Encodes the key in the JSON form of seed sets.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(key, forKey: .key)
    try container.encode(type, forKey: .type)
  }
}

extension SeedAdoption: Codable {
  private enum Key: String, CodingKey, CaseIterable { case type, matching, present, absent }

  /// Decodes a rule from the JSON form of seed sets.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.strictContainer(of: Key.self)
    self.init(
      type: try container.decode(String.self, forKey: .type),
      matching: try container.decode([String].self, forKey: .matching),
      present: try container.decodeIfPresent([String].self, forKey: .present) ?? [],
      absent: try container.decodeIfPresent([String].self, forKey: .absent) ?? [])
  }

  /// Encodes the rule in the JSON form of seed sets.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(type, forKey: .type)
    try container.encode(matching, forKey: .matching)
    if !present.isEmpty { try container.encode(present, forKey: .present) }
    if !absent.isEmpty { try container.encode(absent, forKey: .absent) }
  }
}

/// A value in JSON.
private struct SeedValue: Codable {
  private enum Key: String, CodingKey, CaseIterable { case blob, real }

  let value: Value

  init(_ value: Value) { self.value = value }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      value = .null
    } else if let flag = try? container.decode(Bool.self) {
      value = .integer(flag ? 1 : 0)
    } else if let number = try? container.decode(Int64.self) {
      value = .integer(number)
    } else if let number = try? container.decode(Double.self) {
      value = Value(real: number)
    } else if let text = try? container.decode(String.self) {
      value = .text(text)
    } else {
      value = try Self.object(decoder)
    }
  }

  /// The classes that JSON has no values for.
  private static func object(_ decoder: any Decoder) throws -> Value {
    let container = try? decoder.strictContainer(of: Key.self)
    switch container?.allKeys {
    case [.blob]?:
      if let text = try? container?.decode(String.self, forKey: .blob), let bytes = Hexadecimal.bytes(text) {
        return .blob(bytes)
      }
    case [.real]?:
      if let text = try? container?.decode(String.self, forKey: .real), let number = Double(text) {
        return Value(real: number)
      }
    default: break
    }
    throw DecodingError.dataCorrupted(
      .init(
        codingPath: decoder.codingPath,
        debugDescription: #"a value is a number, a text, true, false, null, {"blob":"<hex>"} or {"real":"inf"}"#))
  }

  func encode(to encoder: any Encoder) throws {
    switch value {
    case .blob(let bytes):
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(Hexadecimal.text(bytes), forKey: .blob)
    case .real(let number) where !number.isFinite:
      var container = encoder.container(keyedBy: Key.self)
      try container.encode("\(number)", forKey: .real)
    case .real(let number): try number.encode(to: encoder)
    case .integer(let number): try number.encode(to: encoder)
    case .text(let text): try text.encode(to: encoder)
    case .null:
      var container = encoder.singleValueContainer()
      try container.encodeNil()
    }
  }
}

// MARK: - Strictness

extension Decoder {
  /// A container in which every key means something.
  fileprivate func strictContainer<Key: CodingKey & CaseIterable>(
    of keys: Key.Type
  ) throws -> KeyedDecodingContainer<Key> {
    for key in try container(keyedBy: AnyKey.self).allKeys.sorted(by: { $0.stringValue < $1.stringValue })
    where Key(stringValue: key.stringValue) == nil {
      let known = Key.allCases.map(\.stringValue).joined(separator: ", ")
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: codingPath, debugDescription: "the key \(printable(key.stringValue)) is not one of \(known)"))
    }
    return try container(keyedBy: keys)
  }
}

private struct AnyKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}
