import TallyCRDT
import TallyStore

/// A column of an app's schema, as the specification knows it. Columns are the same if they have one wire name.
package struct SchemaField: SpecifiedField {
  package let type: String
  package let name: String
  package let column: String
  package let isOwner: Bool
  package let isReference: Bool
  package let isCounter: Bool
  package let defaultValue: String?

  init(_ type: String, _ field: FieldSchema) {
    self.type = type
    (name, column) = (field.wireName, field.name)
    (isOwner, isReference, isCounter) = (false, false, field.kind == .counter)
    defaultValue = field.defaultValue.specified
  }

  init(_ type: String, _ reference: ReferenceSchema) {
    self.type = type
    (name, column) = (reference.name, reference.name)
    (isOwner, isReference, isCounter) = (reference.onDelete == .cascade, true, false)
    defaultValue = nil
  }

  package static func == (a: SchemaField, b: SchemaField) -> Bool { a.name == b.name && a.type == b.type }
  package func hash(into hasher: inout Hasher) {
    hasher.combine(type)
    hasher.combine(name)
  }
}

extension Value {
  /// The value as a text that no other value has; nil for null. A reference stays a name.
  var specified: String? {
    switch self {
    case .null: nil
    case .integer(let number): "integer \(number)"
    case .real(let number): "real \(number.bitPattern)"
    case .text(let text): "text \(text)"
    case .blob(let bytes): "blob \(bytes)"
    }
  }
}

extension SpecifiedSchema where Field == SchemaField {
  /// Creates the model of an app's tables from a schema.
  init(_ schema: Schema) {
    var fields: [String: [SchemaField]] = [:]
    var relationships: Set<String> = []
    var deleteWins: Set<String> = []
    for entity in schema.entities {
      fields[entity.type] =
        entity.fields.map { SchemaField(entity.type, $0) } + entity.references.map { SchemaField(entity.type, $0) }
      for relationship in entity.relationships { relationships.insert("\(entity.type).\(relationship.name)") }
      if entity.deleteWins { deleteWins.insert(entity.type) }
    }
    let (known, known2, known3) = (fields, relationships, deleteWins)
    self.init(
      fields: { known[Self.type(of: $0)] ?? [] }, knows: { known[Self.type(of: $0)] != nil },
      knowsLink: { known2.contains("\(Self.type(of: $0.source)).\($0.relationship)") },
      deleteWins: { known3.contains(Self.type(of: $0)) })
  }

  private static func type(of record: String) -> String {
    guard let end = record.firstIndex(of: "|") else { return record }
    return String(record[..<end])
  }
}
