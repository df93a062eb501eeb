import TallyCRDT

/// What a field holds: the column's type and how the value merges (always last writer wins).
public enum FieldKind: String, Sendable, CaseIterable {
  /// Text in UTF-8. Column type TEXT.
  case text
  /// A signed 64-bit integer. Column type INTEGER.
  case integer
  /// A double. Column type REAL.
  case real
  /// Bytes. Column type BLOB.
  case blob
  /// 0 or 1. Column type INTEGER.
  case bool
  /// A date as GRDB writes it, `YYYY-MM-DD HH:MM:SS.SSS` in UTC; any other form that SQLite and GRDB read as a date is
  /// taken as well. Column type TEXT.
  case date
  /// Sixteen bytes as GRDB writes a `UUID`. Column type BLOB.
  case uuid
  /// Any `Codable` value as JSON (RFC 8259). Column type TEXT. It merges as a whole.
  case json

  package var columnType: String {
    switch self {
    case .text, .date, .json: "TEXT"
    case .integer, .bool: "INTEGER"
    case .real: "REAL"
    case .blob, .uuid: "BLOB"
    }
  }

  /// Whether a value other than null fits.
  func accepts(_ value: Value) -> Bool {
    switch (self, value) {
    case (.date, .text(let text)): FieldSyntax.isDate(text)
    case (.json, .text(let text)): FieldSyntax.isJSON(text)
    case (.text, .text), (.integer, .integer), (.real, .real), (.blob, .blob): true
    case (.bool, .integer(let number)): number == 0 || number == 1
    case (.uuid, .blob(let bytes)): bytes.count == 16
    default: false
    }
  }
}

/// What becomes of a record when the record that it refers to is deleted.
public enum DeleteRule: String, Sendable, Codable {
  /// Ownership: the record disappears with its owner, and comes back with it. A concurrent edit of the record revives
  /// the owner.
  case cascade
  /// The reference reads as null while its target is not there.
  case nullify
  /// The delete fails on the device that tries it. Checked locally only: two devices can still delete and refer
  /// concurrently, and then the reference reads as null. So it does after a delete that another program committed
  /// without asking.
  case deny
}

/// A typed column: a last-writer-wins register.
public struct FieldSchema: Sendable, Hashable {
  /// The column's name.
  public var name: String
  /// What it holds.
  public var kind: FieldKind
  /// What it reads as when it was never written. A column with a default is NOT NULL.
  public var defaultValue: Value
  /// The name on the wire and in the file. Stays when the column is renamed.
  public var wireName: String

  /// A field.
  public init(_ name: String, _ kind: FieldKind, default defaultValue: Value = .null, wireName: String? = nil) {
    self.name = name
    self.kind = kind
    self.defaultValue = defaultValue
    self.wireName = wireName ?? name
  }
}

/// A to-one reference: a last-writer-wins register that holds a record name. Store one side; the inverse is a query.
public struct ReferenceSchema: Sendable, Hashable {
  /// The column's name.
  public var name: String
  /// The type it refers to.
  public var to: String
  /// What becomes of this record when the target is deleted.
  public var onDelete: DeleteRule
  /// Whether the column has an index. Deleting a target without one reads the whole table.
  public var isIndexed: Bool

  /// A reference.
  public init(_ name: String, to: String, onDelete: DeleteRule = .nullify, isIndexed: Bool = true) {
    self.name = name
    self.to = to
    self.onDelete = onDelete
    self.isIndexed = isIndexed
  }
}

/// A to-many relationship: an observed-remove set of record names, in a join table `Type_name` with the columns
/// `source` and `target`. A concurrent add wins over a remove.
public struct RelationshipSchema: Sendable, Hashable {
  /// The name.
  public var name: String
  /// The type of the members.
  public var to: String

  /// A relationship.
  public init(_ name: String, to: String) {
    self.name = name
    self.to = to
  }
}

/// What a person's edit of a seeded record means for later versions of the seed.
public enum SeedFollowing: String, Sendable, Codable {
  /// The record is theirs from then on: later versions change nothing in it.
  case untilEdited
  /// Fields that they did not edit go on following the seed.
  case perField
}

/// One entity: its table, its columns and how each of them merges.
///
/// ```swift
/// static let schema = EntitySchema(
///   "SBGame",
///   .text("name"), .real("rating"),
///   .reference("owner", to: "SBPerson", onDelete: .cascade),
///   .toMany("players", to: "SBPerson"))
/// ```
public struct EntitySchema: Sendable, Hashable {
  /// One column or relationship of an entity.
  public enum Property: Sendable {
    /// A field.
    case field(FieldSchema)
    /// A to-one reference.
    case reference(ReferenceSchema)
    /// A to-many relationship.
    case relationship(RelationshipSchema)
  }

  /// The type, which is also the table's name and the first part of the records' names.
  public var type: String
  /// The fields.
  public var fields: [FieldSchema]
  /// The to-one references.
  public var references: [ReferenceSchema]
  /// The to-many relationships.
  public var relationships: [RelationshipSchema]
  /// Whether a delete beats concurrent edits. By default a concurrent edit keeps the record.
  public var deleteWins: Bool
  /// What a person's edit means for later versions of a seed.
  public var follows: SeedFollowing

  /// An entity of the given properties.
  public init(
    _ type: String, deleteWins: Bool = false, follows: SeedFollowing = .untilEdited, _ properties: Property...
  ) {
    self.init(type: type, deleteWins: deleteWins, follows: follows)
    for property in properties {
      switch property {
      case .field(let field): fields.append(field)
      case .reference(let reference): references.append(reference)
      case .relationship(let relationship): relationships.append(relationship)
      }
    }
  }

  /// An entity of the given parts.
  public init(
    type: String, fields: [FieldSchema] = [], references: [ReferenceSchema] = [],
    relationships: [RelationshipSchema] = [], deleteWins: Bool = false, follows: SeedFollowing = .untilEdited
  ) {
    self.type = type
    self.fields = fields
    self.references = references
    self.relationships = relationships
    self.deleteWins = deleteWins
    self.follows = follows
  }
}

extension EntitySchema.Property {
  /// A text column, NOT NULL if it has a default.
  public static func text(_ name: String, default value: String? = nil, wireName: String? = nil) -> Self {
    .field(FieldSchema(name, .text, default: Value(text: value), wireName: wireName))
  }
  /// An integer column, NOT NULL if it has a default.
  public static func integer(_ name: String, default value: Int64? = nil, wireName: String? = nil) -> Self {
    .field(FieldSchema(name, .integer, default: value.map(Value.integer) ?? .null, wireName: wireName))
  }
  /// A column of doubles, NOT NULL if it has a default.
  public static func real(_ name: String, default value: Double? = nil, wireName: String? = nil) -> Self {
    .field(FieldSchema(name, .real, default: value.map(Value.init(real:)) ?? .null, wireName: wireName))
  }
  /// A column of true and false, NOT NULL if it has a default.
  public static func bool(_ name: String, default value: Bool? = nil, wireName: String? = nil) -> Self {
    .field(FieldSchema(name, .bool, default: value.map { .integer($0 ? 1 : 0) } ?? .null, wireName: wireName))
  }
  /// A column of bytes. Larger things than a thumbnail belong in files.
  public static func blob(_ name: String, wireName: String? = nil) -> Self {
    .field(FieldSchema(name, .blob, wireName: wireName))
  }
  /// A column of dates.
  public static func date(_ name: String, wireName: String? = nil) -> Self {
    .field(FieldSchema(name, .date, wireName: wireName))
  }
  /// A column of UUIDs.
  public static func uuid(_ name: String, wireName: String? = nil) -> Self {
    .field(FieldSchema(name, .uuid, wireName: wireName))
  }
  /// A column that holds a `Codable` value as JSON.
  public static func json(_ name: String, wireName: String? = nil) -> Self {
    .field(FieldSchema(name, .json, wireName: wireName))
  }
  /// A to-one reference. See `DeleteRule` for what the target's delete does.
  public static func reference(
    _ name: String, to type: String, onDelete: DeleteRule = .nullify, isIndexed: Bool = true
  ) -> Self {
    .reference(ReferenceSchema(name, to: type, onDelete: onDelete, isIndexed: isIndexed))
  }
  /// A to-many relationship.
  public static func toMany(_ name: String, to type: String) -> Self {
    .relationship(RelationshipSchema(name, to: type))
  }
}
