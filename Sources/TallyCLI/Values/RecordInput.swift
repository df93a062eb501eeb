import GRDB
import Tally
import TallyCRDT
import TallyStore

/// A record to put: from the command line, a line of `put -` or a line of an import.
struct RecordInput {
  var name: AnyRecordName
  var fields: [String: Value] = [:]
  var links: [(relationship: String, target: AnyRecordName)] = []
  /// What is added to counters.
  var additions: [(counter: String, number: Int64)] = []
  /// What counters, and fields that keep the greatest or the least, are set to.
  var settings: [(field: String, value: Value)] = []

  /// A name and assignments: `field=text` or `field:=JSON`.
  init(words: [String], schema: Schema) throws {
    name = try recordName(words.first ?? "")
    let entity = try schema.entity(of: name)
    for word in words.dropFirst() {
      // What follows may combine with it, and is still the value.
      let scalars = word.unicodeScalars
      guard let sign = scalars.firstIndex(of: "=") else {
        throw Failure(.badData, "\(shown(word)) is not an assignment; write field=value or field:=JSON")
      }
      let isJSON = scalars[..<sign].last == ":"
      let field = String(isJSON ? scalars[..<sign].dropLast() : scalars[..<sign])
      let text = String(scalars[scalars.index(after: sign)...])
      let type = try entity.fieldType(field)
      let value = try located(name, field) {
        isJSON ? try type.value(json: JSONParser.parse(Array(text.utf8))) : try type.value(text: text)
      }
      guard fields.updateValue(value, forKey: field) == nil else {
        throw Failure(.badData, "the field \(field) is given twice")
      }
    }
  }

  /// `{"name":…,"fields":{…},"links":{relationship:[…]}}`.
  init(json: JSON, schema: Schema) throws {
    guard case .object(let members) = json else { throw Failure(.badData, "the line is not a JSON object") }
    for key in members.keys.sorted() where !["name", "fields", "links"].contains(key) {
      throw Failure(.badData, "the key \(shown(key)) is not one of name, fields and links")
    }
    guard case .string(let text)? = members["name"] else { throw Failure(.badData, "the record has no name") }
    name = try recordName(text)
    let entity = try schema.entity(of: name)
    for (field, json) in try Self.object(members["fields"], "fields").sorted(by: { $0.key < $1.key }) {
      let type = try entity.fieldType(field)
      fields[field] = try located(name, field) { try type.value(json: json) }
    }
    for (relationship, json) in try Self.object(members["links"], "links").sorted(by: { $0.key < $1.key }) {
      guard case .array(let targets) = json else {
        throw Failure(.badData, "links: \(shown(relationship)) is not a list")
      }
      guard entity.relationships.contains(where: { $0.name == relationship }) else {
        throw StoreError(
          .unknownRelationship,
          "\(entity.type) has no relationship \(shown(relationship))\(entity.hint(forRelationship: relationship))")
      }
      for target in targets {
        guard case .string(let text) = target else { throw Failure(.badData, "links: a target is not a record name") }
        links.append((relationship, try recordName(text)))
      }
    }
  }

  /// Adds to counters and sets them, or what keeps the greatest or the least: `field=number`.
  mutating func count(_ additions: [String], _ settings: [String], _ schema: Schema) throws {
    let entity = try schema.entity(of: name)
    func read(_ word: String, _ fault: String, _ takes: (FieldSchema) -> Bool) throws -> (String, Value) {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2 else {
        throw Failure(.badData, "\(shown(word)) is not a field and a number; write field=number")
      }
      let (column, text) = (parts[0], parts[1])
      let type = try entity.fieldType(column)
      guard let field = entity.fields.first(where: { $0.name == column }), takes(field) else {
        throw StoreError(.typeMismatch, "\(entity.type).\(column) \(fault); write field=value")
      }
      guard fields[column] == nil else { throw Failure(.badData, "the field \(column) is given twice") }
      let value = try located(name, column) {
        let value = try type.value(text: text)
        guard !value.isNull || field.kind != .counter else {
          throw StoreError(.typeMismatch, "a counter takes a number, not null")
        }
        return value
      }
      return (column, value)
    }
    self.additions = try additions.compactMap { word in
      let (counter, value) = try read(word, "is no counter") { $0.kind == .counter }
      guard case .integer(let number) = value else { return nil }
      return (counter, number)
    }
    self.settings = try settings.map { word in
      try read(word, "is no counter and does not keep the greatest or the least") {
        $0.kind == .counter || $0.keep != nil
      }
    }
  }

  private static func object(_ json: JSON?, _ key: String) throws -> [String: JSON] {
    switch json {
    case .object(let members)?: return members
    case nil, .null?: return [:]
    default: throw Failure(.badData, "\(key) is not a JSON object")
    }
  }

  /// A record alone, to be filled in.
  init(_ name: AnyRecordName) { self.name = name }

  var isEmpty: Bool { fields.isEmpty && links.isEmpty }

  /// The line that `init(json:schema:)` reads.
  func json(_ entity: EntitySchema) throws -> JSON {
    var values: [String: JSON] = [:]
    for (field, value) in fields { values[field] = try entity.fieldType(field).json(value) }
    var targets: [String: [JSON]] = [:]
    for link in links { targets[link.relationship, default: []].append(.string(link.target.text)) }
    return .object([
      "name": .string(name.text), "fields": .object(values), "links": .object(targets.mapValues(JSON.array)),
    ])
  }

  /// Puts the record and its links.
  func put(_ db: Database, _ schema: Schema) throws {
    // Who only counts means a record that is there.
    if additions.isEmpty && settings.isEmpty || !fields.isEmpty { try schema.put(db, name, fields) }
    try putLinks(db, schema)
    for (field, value) in settings { try schema.set(db, name, field, to: value) }
    for (counter, number) in additions { try schema.add(db, name, counter, number) }
  }

  /// Adds the links of a record that is there.
  func putLinks(_ db: Database, _ schema: Schema) throws {
    for link in links { try schema.link(db, name, link.relationship, to: link.target) }
  }
}

extension Schema {
  /// The entity of a record.
  /// - Throws: `StoreError.unknownType`.
  func entity(of name: AnyRecordName) throws -> EntitySchema { try entity(type: name.type) }

  /// The entity of a type.
  /// - Throws: `StoreError.unknownType`.
  func entity(type: String) throws -> EntitySchema {
    guard let entity = self[type] else {
      throw StoreError(.unknownType, "the type \(shown(type)) is not in the schema\(hint(forType: type))")
    }
    return entity
  }
}

/// Adds to an error which field it is about.
func located<T>(_ name: AnyRecordName, _ field: String, _ body: () throws -> T) throws -> T {
  do {
    return try body()
  } catch {
    throw Failure(ExitStatus(of: error), "\(name).\(field): \(Failure.message(of: error))")
  }
}
