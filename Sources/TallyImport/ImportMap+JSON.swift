import Foundation
import TallyStore

extension ImportMap {
  /// Reads a map from JSON. Keys that mean nothing are refused, since a misspelt one would be a column that is missing.
  /// - Throws: `StoreError.invalidMap`, which says where.
  public init(json: Data) throws(StoreError) {
    do {
      self = try JSONDecoder().decode(ImportMap.self, from: json)
    } catch {
      throw StoreError(.invalidMap, "the map is not readable: \(Schema.reason(error))", cause: error)
    }
  }

  /// The map as JSON, with sorted keys, for people to go on with.
  /// - Throws: what encoding throws, which it does not for a map.
  public func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
    return try encoder.encode(self)
  }
}

/// A key of any name, to find those that mean nothing.
private struct AnyKey: CodingKey {
  var stringValue: String
  var intValue: Int? { nil }
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

extension Decoder {
  fileprivate func corrupted(_ reason: String) -> DecodingError {
    .dataCorrupted(.init(codingPath: codingPath, debugDescription: reason))
  }

  /// The container of an object that has no other keys than those of `Key`.
  fileprivate func container<Key: CodingKey & CaseIterable>(onlyKeysOf type: Key.Type) throws
    -> KeyedDecodingContainer<Key>
  {
    let known = Set(Key.allCases.map(\.stringValue))
    for key in try container(keyedBy: AnyKey.self).allKeys where !known.contains(key.stringValue) {
      throw corrupted("\(printable(key.stringValue)) is none of \(known.sorted().joined(separator: ", "))")
    }
    return try container(keyedBy: type)
  }
}

extension ImportMap: Codable {
  private enum Key: String, CodingKey, CaseIterable { case name, namespace, folder, tables, links, leavesOut }

  /// Reads a map. See `init(json:)`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(onlyKeysOf: Key.self)
    self.init(
      name: try container.decodeIfPresent(String.self, forKey: .name),
      namespace: try container.decodeIfPresent(UUID.self, forKey: .namespace),
      folder: try container.decodeIfPresent(String.self, forKey: .folder),
      tables: try container.decode([Table].self, forKey: .tables),
      links: try container.decodeIfPresent([Links].self, forKey: .links) ?? [],
      leavesOut: try container.decodeIfPresent([String].self, forKey: .leavesOut) ?? [])
  }

  /// Writes a map. See `json()`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encodeIfPresent(name, forKey: .name)
    try container.encodeIfPresent(namespace, forKey: .namespace)
    try container.encodeIfPresent(folder, forKey: .folder)
    try container.encode(tables, forKey: .tables)
    if !links.isEmpty { try container.encode(links, forKey: .links) }
    if !leavesOut.isEmpty { try container.encode(leavesOut, forKey: .leavesOut) }
  }
}

extension ImportMap.Table: Codable {
  private enum Key: String, CodingKey, CaseIterable { case from, to, key, id, fields, `where` }

  /// Reads the mapping of a table.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(onlyKeysOf: Key.self)
    self.init(
      from: try container.decode(String.self, forKey: .from), to: try container.decode(String.self, forKey: .to),
      key: try container.decodeIfPresent(ImportColumn.self, forKey: .key),
      id: try container.decodeIfPresent(ImportColumn.self, forKey: .id),
      where: try container.decodeIfPresent(String.self, forKey: .where),
      fields: try container.decodeIfPresent([String: ImportColumn].self, forKey: .fields) ?? [:])
  }

  /// Writes the mapping of a table.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(from, forKey: .from)
    try container.encode(to, forKey: .to)
    try container.encodeIfPresent(key, forKey: .key)
    try container.encodeIfPresent(id, forKey: .id)
    try container.encodeIfPresent(condition, forKey: .where)
    try container.encode(fields, forKey: .fields)
  }
}

extension ImportMap.Links: Codable {
  private enum Key: String, CodingKey, CaseIterable { case from, to, source, target, order, `where` }

  /// Reads the mapping of a join table.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(onlyKeysOf: Key.self)
    self.init(
      from: try container.decode(String.self, forKey: .from), to: try container.decode(String.self, forKey: .to),
      source: try container.decode(ImportColumn.self, forKey: .source),
      target: try container.decode(ImportColumn.self, forKey: .target),
      order: try container.decodeIfPresent(ImportColumn.self, forKey: .order),
      where: try container.decodeIfPresent(String.self, forKey: .where))
  }

  /// Writes the mapping of a join table.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(from, forKey: .from)
    try container.encode(to, forKey: .to)
    try container.encode(source, forKey: .source)
    try container.encode(target, forKey: .target)
    try container.encodeIfPresent(order, forKey: .order)
    try container.encodeIfPresent(condition, forKey: .where)
  }
}

extension ImportColumn.Form: Codable {}

extension ImportColumn: Codable {
  private enum Key: String, CodingKey, CaseIterable { case column, sql, `as`, type, skipsMissing }

  /// Reads a column: its name, or an object.
  public init(from decoder: any Decoder) throws {
    if let name = try? decoder.singleValueContainer().decode(String.self) {
      self.init(column: name)
      return
    }
    let container = try decoder.container(onlyKeysOf: Key.self)
    let column = try container.decodeIfPresent(String.self, forKey: .column)
    let sql = try container.decodeIfPresent(String.self, forKey: .sql)
    switch (column, sql) {
    case (let column?, nil): self.init(column: column)
    case (nil, let sql?): self.init(sql: sql)
    case (nil, nil): throw decoder.corrupted("\"column\" or \"sql\" must be there")
    case (_?, _?): throw decoder.corrupted("of \"column\" and \"sql\" only one can be there")
    }
    form = try container.decodeIfPresent(Form.self, forKey: .as)
    type = try container.decodeIfPresent(String.self, forKey: .type)
    skipsMissing = try container.decodeIfPresent(Bool.self, forKey: .skipsMissing) ?? false
  }

  /// Writes the name alone if there is nothing else to say.
  public func encode(to encoder: any Encoder) throws {
    if case .column(let name) = expression, form == nil, type == nil, !skipsMissing {
      var container = encoder.singleValueContainer()
      try container.encode(name)
      return
    }
    var container = encoder.container(keyedBy: Key.self)
    switch expression {
    case .column(let name): try container.encode(name, forKey: .column)
    case .sql(let sql): try container.encode(sql, forKey: .sql)
    }
    try container.encodeIfPresent(form, forKey: .as)
    try container.encodeIfPresent(type, forKey: .type)
    if skipsMissing { try container.encode(true, forKey: .skipsMissing) }
  }
}
