import TallyCRDT

/// A `FieldSource` in a schema file: see `Schema.init(json:)`.
struct SourceCoding: Codable {
  var field: String
  var kind: String
  var defaultValue: ScalarCoding?
  var lens: LensCoding
  var keepsOldApps: Bool?

  private enum CodingKeys: String, CodingKey {
    case field, kind, lens, keepsOldApps
    case defaultValue = "default"
  }

  init(_ source: FieldSource) {
    (field, kind) = (source.field, source.kind.rawValue)
    defaultValue = source.defaultValue.isNull ? nil : ScalarCoding(value: source.defaultValue)
    lens = LensCoding(lens: source.lens)
    keepsOldApps = source.keepsOldApps ? nil : false
  }

  /// - Throws: `StoreError.invalidSchema` for an unknown kind.
  func source() throws -> FieldSource {
    let kind = try FieldKind(coded: kind)
    return FieldSource.lens(
      field, kind, default: try defaultValue?.value(of: kind) ?? .null, lens.lens, keepsOldApps: keepsOldApps ?? true)
  }
}

/// A lens in a schema file: `"digits"`, `{"scale": 100}` or `{"map": [[false, "open"], [true, "done"]]}`.
struct LensCoding: Codable {
  var lens: Lens

  private enum Key: String, CodingKey, CaseIterable { case scale, map }
  private static let digits = "digits"

  init(lens: Lens) { self.lens = lens }

  init(from decoder: any Decoder) throws {
    if let name = try? decoder.singleValueContainer().decode(String.self) {
      guard name == Self.digits else { throw Self.unknown(name) }
      lens = .digits
      return
    }
    let container = try decoder.container(keyedBy: Key.self)
    guard container.allKeys.count == 1 else { throw Self.unknown("an object without one of its keys, or with both") }
    if container.contains(.scale) {
      lens = .scale(try container.decode(Double.self, forKey: .scale))
    } else {
      let pairs = try container.decode([[ScalarCoding]].self, forKey: .map)
      guard pairs.allSatisfy({ $0.count == 2 }) else {
        throw StoreError(.invalidSchema, "a map of a lens is a list of pairs of values")
      }
      lens = Lens(rule: .map(pairs.map { Lens.Counterpart(older: $0[0].value, newer: $0[1].value) }))
    }
  }

  func encode(to encoder: any Encoder) throws {
    switch lens.rule {
    case .digits:
      var container = encoder.singleValueContainer()
      try container.encode(Self.digits)
    case .scale(let factor):
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(factor, forKey: .scale)
    case .map(let pairs):
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(
        pairs.map { [ScalarCoding(value: $0.older), ScalarCoding(value: $0.newer)] }, forKey: .map)
    }
  }

  private static func unknown(_ what: String) -> StoreError {
    StoreError(.invalidSchema, "unknown lens \(printable(what)); expected \"digits\", or an object with scale or map")
  }
}
