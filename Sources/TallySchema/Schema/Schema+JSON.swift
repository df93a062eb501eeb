import Foundation
import TallyCRDT

/// The schema file:
/// ```
/// {"entities": [{"type": "SBGame", "fields": {"name": "text"},
///   "references": {"owner": {"to": "SBPerson", "onDelete": "cascade"}},
///   "relationships": {"players": {"to": "SBPerson"}}}]}
/// ```
/// A field can also be `{"kind":"text","default":"…","wireName":"…"}`, and a position is
/// `{"kind":"position","within":"list"}`; a number may have `"keep":"greatest"`, an asset `"download":"eager"`, a text
/// or an integer `"oneOf":["open","done"]` and `"unknown":"open"`. A field that takes the place of another one has
/// `"from":{"field":"price","kind":"real","lens":{"scale":100}}`, or for the lens `"digits"` or
/// `{"map":[[false,"open"],[true,"done"]]}`, and may have `"keepsOldApps":false`. Beside them may stand
/// `"deleteWins": true`, `"follows": "perField"` and `"unique": [{"fields": ["name"], "policy": "rename"}]`.
extension Schema {
  /// Reads a schema from JSON and checks its rules.
  ///
  /// ```swift
  /// let schema = try Schema(json: Data(#"{"entities": [{"type": "Note", "fields": {"text": "text"}}]}"#.utf8))
  /// ```
  /// - Throws: `StoreError.invalidSchema`, whose message names the place.
  public init(json: Data) throws(StoreError) {
    do {
      self = try JSONDecoder().decode(Schema.self, from: json)
    } catch {
      if let error = error as? StoreError { throw error }
      throw StoreError(.invalidSchema, "the schema is not readable: \(Self.reason(error))", cause: error)
    }
    try validate()
  }

  /// Returns the schema as JSON with sorted keys, in the form that ``init(json:)`` and `tally new --schema` read.
  ///
  /// ```swift
  /// try schema.json().write(to: url)
  /// ```
  ///
  /// Equal schemas give equal bytes.
  /// - Throws: errors of encoding, which do not occur for a valid schema.
  public func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(self)
  }

  /// Returns what is wrong with a text of JSON, and where: `tables[2].fields.seconds: …`.
  package static func reason(_ error: any Error) -> String {
    guard let error = error as? DecodingError else { return "\(error)" }
    switch error {
    case .keyNotFound(let key, let context): return place(context) + "the key \(key.stringValue) is missing"
    case .dataCorrupted(let context), .typeMismatch(_, let context), .valueNotFound(_, let context):
      return place(context) + context.debugDescription
    @unknown default: return "\(error)"
    }
  }

  private static func place(_ context: DecodingError.Context) -> String {
    let path = context.codingPath.reduce("") { path, key in
      if let index = key.intValue { return path + "[\(index)]" }
      return path.isEmpty ? key.stringValue : "\(path).\(key.stringValue)"
    }
    return path.isEmpty ? "" : "\(path): "
  }
}

extension EntitySchema: Codable {
  private enum Key: String, CodingKey { case type, fields, references, relationships, deleteWins, follows, unique }

  private struct Target: Codable {
    var to: String
    var onDelete: DeleteRule?
    var isIndexed: Bool?
    var ordered: Bool?
  }

  /// Reads an entity; columns come in the order of their names.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    self.init(type: try container.decode(String.self, forKey: .type))
    deleteWins = try container.decodeIfPresent(Bool.self, forKey: .deleteWins) ?? false
    follows = try container.decodeIfPresent(SeedFollowing.self, forKey: .follows) ?? .untilEdited
    unique = try container.decodeIfPresent([UniqueRule].self, forKey: .unique) ?? []
    let fields = try container.decodeIfPresent([String: FieldCoding].self, forKey: .fields) ?? [:]
    self.fields = try fields.sorted { $0.key < $1.key }.map { try $0.value.field(named: $0.key) }
    let references = try container.decodeIfPresent([String: Target].self, forKey: .references) ?? [:]
    self.references = references.sorted { $0.key < $1.key }.map {
      ReferenceSchema(
        $0.key, to: $0.value.to, onDelete: $0.value.onDelete ?? .nullify, isIndexed: $0.value.isIndexed ?? true)
    }
    let relationships = try container.decodeIfPresent([String: Target].self, forKey: .relationships) ?? [:]
    self.relationships = relationships.sorted { $0.key < $1.key }.map {
      RelationshipSchema($0.key, to: $0.value.to, ordered: $0.value.ordered ?? false)
    }
  }

  /// Encodes the entity in the form that `tally new --schema` reads.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(type, forKey: .type)
    if deleteWins { try container.encode(true, forKey: .deleteWins) }
    if follows != .untilEdited { try container.encode(follows, forKey: .follows) }
    if !unique.isEmpty { try container.encode(unique, forKey: .unique) }
    try container.encode(keyed(fields.map { ($0.name, FieldCoding($0)) }), forKey: .fields)
    if !references.isEmpty {
      let targets = references.map {
        ($0.name, Target(to: $0.to, onDelete: $0.onDelete, isIndexed: $0.isIndexed ? nil : false))
      }
      try container.encode(keyed(targets), forKey: .references)
    }
    if !relationships.isEmpty {
      let targets = relationships.map { ($0.name, Target(to: $0.to, ordered: $0.isOrdered ? true : nil)) }
      try container.encode(keyed(targets), forKey: .relationships)
    }
  }

  private func keyed<T>(_ pairs: [(String, T)]) -> [String: T] { Dictionary(pairs) { first, _ in first } }
}

/// A field in JSON: a kind alone, or an object.
private struct FieldCoding: Codable {
  var kind: String
  var defaultValue: ScalarCoding?
  var isDefaultUnsaid = false
  var wireName: String?
  var within: String?
  var keep: String?
  var download: AssetDownload?
  var source: SourceCoding?
  var oneOf: [ScalarCoding]?
  var unknown: ScalarCoding?

  private enum Key: String, CodingKey {
    case kind
    case defaultValue = "default"
    case wireName, within, keep, download, oneOf, unknown
    case source = "from"
  }

  init(_ field: FieldSchema) {
    kind = field.kind.rawValue
    let isUsual = field.defaultValue.isNull || field.kind == .counter && field.defaultValue == .integer(0)
    defaultValue = isUsual ? nil : ScalarCoding(value: field.defaultValue)
    isDefaultUnsaid = field.isDefaultUnsaid
    wireName = field.wireName == field.name ? nil : field.wireName
    within = field.within
    keep = field.keep?.rawValue
    download = field.download == .lazy ? nil : field.download
    source = field.source.map(SourceCoding.init)
    oneOf = field.oneOf?.map(ScalarCoding.init)
    unknown = field.unknown.map(ScalarCoding.init)
  }

  init(from decoder: any Decoder) throws {
    if let kind = try? decoder.singleValueContainer().decode(String.self) {
      self.kind = kind
      return
    }
    let container = try decoder.container(keyedBy: Key.self)
    kind = try container.decode(String.self, forKey: .kind)
    defaultValue = try container.decodeIfPresent(ScalarCoding.self, forKey: .defaultValue)
    isDefaultUnsaid = kind == FieldKind.blob.rawValue && defaultValue == nil && container.contains(.defaultValue)
    wireName = try container.decodeIfPresent(String.self, forKey: .wireName)
    within = try container.decodeIfPresent(String.self, forKey: .within)
    keep = try container.decodeIfPresent(String.self, forKey: .keep)
    download = try container.decodeIfPresent(AssetDownload.self, forKey: .download)
    source = try container.decodeIfPresent(SourceCoding.self, forKey: .source)
    oneOf = try container.decodeIfPresent([ScalarCoding].self, forKey: .oneOf)
    unknown = try container.decodeIfPresent(ScalarCoding.self, forKey: .unknown)
  }

  func encode(to encoder: any Encoder) throws {
    let isPlain = defaultValue == nil && wireName == nil && within == nil && keep == nil && download == nil
    guard !isPlain || source != nil || oneOf != nil || isDefaultUnsaid else {
      var container = encoder.singleValueContainer()
      return try container.encode(kind)
    }
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(kind, forKey: .kind)
    try container.encodeIfPresent(defaultValue, forKey: .defaultValue)
    if isDefaultUnsaid { try container.encodeNil(forKey: .defaultValue) }
    try container.encodeIfPresent(wireName, forKey: .wireName)
    try container.encodeIfPresent(within, forKey: .within)
    try container.encodeIfPresent(keep, forKey: .keep)
    try container.encodeIfPresent(download, forKey: .download)
    try container.encodeIfPresent(source, forKey: .source)
    try container.encodeIfPresent(oneOf, forKey: .oneOf)
    try container.encodeIfPresent(unknown, forKey: .unknown)
  }

  func field(named name: String) throws -> FieldSchema {
    let kind = try FieldKind(coded: kind)
    let extremum = keep.flatMap(Extremum.init(rawValue:))
    if let keep, extremum == nil {
      throw StoreError(.invalidSchema, "a field keeps the greatest or the least, and not \(printable(keep))")
    }
    // A counter begins somewhere.
    let start = kind == .counter ? Value.integer(0) : .null
    var field = FieldSchema(
      name, kind, default: try defaultValue?.value(of: kind) ?? start, wireName: wireName, within: within,
      keep: extremum, download: download, from: try source?.source(), oneOf: oneOf?.map(\.value),
      unknown: unknown?.value)
    field.isDefaultUnsaid = isDefaultUnsaid
    return field
  }
}

extension FieldKind {
  /// - Throws: `StoreError.invalidSchema`.
  init(coded name: String) throws(StoreError) {
    guard let kind = FieldKind(rawValue: name) else {
      let known = FieldKind.allCases.map(\.rawValue).joined(separator: ", ")
      throw StoreError(.invalidSchema, "unknown field type \(printable(name)); expected one of \(known)")
    }
    self = kind
  }
}

/// A default, or another value, in JSON.
struct ScalarCoding: Codable {
  var value: Value

  init(value: Value) { self.value = value }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let flag = try? container.decode(Bool.self) {
      value = .integer(flag ? 1 : 0)
    } else if let number = try? container.decode(Int64.self) {
      value = .integer(number)
    } else if let number = try? container.decode(Double.self) {
      value = Value(real: number)
    } else {
      value = .text(try container.decode(String.self))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch value {
    case .integer(let number): try container.encode(number)
    case .real(let number): try container.encode(number)
    case .text(let text): try container.encode(text)
    case .blob(let bytes): try container.encode(Hexadecimal.text(bytes))
    case .null: try container.encodeNil()
    }
  }

  func value(of kind: FieldKind) throws -> Value {
    switch (kind, value) {
    case (.real, .integer(let number)): return Value(real: Double(number))
    case (.blob, .text(let text)):
      guard let bytes = Hexadecimal.bytes(text) else {
        throw StoreError(.invalidSchema, "the default \(printable(text)) of a blob is not in hexadecimal digits")
      }
      return .blob(bytes)
    default: return value
    }
  }
}
