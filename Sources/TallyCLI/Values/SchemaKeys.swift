/// Finds keys of a schema file that mean nothing, which are misspelt more often than not. The library reads over them,
/// since a newer version may have written them.
enum SchemaKeys {
  /// - Throws: `Failure` for bytes that are not strict JSON, a repeated key or an unknown one.
  static func check(_ bytes: [UInt8]) throws {
    let file = try JSONParser.parse(bytes)
    try check(file, ["entities"])
    guard case .object(let members) = file, case .array(let entities)? = members["entities"] else { return }
    for entity in entities {
      try check(entity, ["type", "fields", "references", "relationships", "deleteWins", "follows", "unique"])
      try checkMembers(
        entity, "fields",
        ["kind", "default", "wireName", "within", "keep", "download", "from", "oneOf", "unknown"])
      try checkSources(entity)
      try checkMembers(entity, "references", ["to", "onDelete", "isIndexed"])
      try checkMembers(entity, "relationships", ["to", "ordered"])
      guard case .object(let members) = entity, case .array(let rules)? = members["unique"] else { continue }
      for rule in rules { try check(rule, ["fields", "policy"]) }
    }
  }

  private static func checkMembers(_ entity: JSON, _ key: String, _ known: [String]) throws {
    guard case .object(let members) = entity, case .object(let items)? = members[key] else { return }
    for item in items.sorted(by: { $0.key < $1.key }) { try check(item.value, known) }
  }

  private static func checkSources(_ entity: JSON) throws {
    guard case .object(let members) = entity, case .object(let fields)? = members["fields"] else { return }
    for field in fields.sorted(by: { $0.key < $1.key }) {
      guard case .object(let members) = field.value, let source = members["from"] else { continue }
      try check(source, ["field", "kind", "default", "lens", "keepsOldApps"])
      guard case .object(let members) = source, let lens = members["lens"] else { continue }
      try check(lens, ["scale", "map"])
    }
  }

  private static func check(_ json: JSON, _ known: [String]) throws {
    guard case .object(let members) = json else { return }
    for key in members.keys.sorted() where !known.contains(key) {
      throw Failure(
        .badData, "the schema has the key \(shown(key)) where there can be \(known.joined(separator: ", "))")
    }
  }
}
