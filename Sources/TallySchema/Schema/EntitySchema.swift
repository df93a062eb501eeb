import TallyCRDT
import TallyWire

/// The effect on a record when the record that it refers to is deleted.
public enum DeleteRule: String, Sendable, Codable {
  /// Ownership: the record disappears with its owner, and comes back with it. A concurrent edit of the record revives
  /// the owner.
  case cascade
  /// The reference reads as null while its target does not exist.
  case nullify
  /// The delete fails on the device that attempts it. The check is local: one device can still delete the target while
  /// another adds a reference to it, and then the reference reads as null. The same happens when another program has
  /// committed the delete without the check.
  case deny
}

/// A typed column: a last-writer-wins register.
public struct FieldSchema: Sendable, Hashable {
  /// The column's name, which may change between releases; see `wireName`.
  public var name: String
  /// The kind of value that the column holds.
  public var kind: FieldKind
  /// The value of the field until it is written. A column with a default is NOT NULL.
  public var defaultValue: Value
  /// The field's name on the wire and in the file, which stays the same when the column is renamed.
  public var wireName: String
  /// For a position, the reference to the record whose list it orders; nil for every other kind.
  public var within: String?
  /// For a number, which of concurrent values the column keeps; nil for the later one, as in every other column.
  public var keep: Extremum?
  /// For an asset, when devices get its file; nil for every other kind. It may change.
  public var download: AssetDownload?
  /// The older field whose place it takes, with the lens between the two; nil for most fields.
  public var source: FieldSource?
  /// The values that this version of the app knows, for a text or integer of which it knows all; nil for any. They may
  /// change: a value that only a newer version lists stays in the column and on the wire.
  public var oneOf: [Value]?
  /// The listed value that stands for one that is not, where a struct cannot show that; nil for the default.
  public var unknown: Value?
  /// Whether this is a blob with a default of which its JSON says null: earlier builds wrote no other.
  package var isDefaultUnsaid = false

  /// Creates a column. Its wire name is its name unless another one is given.
  public init(
    _ name: String, _ kind: FieldKind, default defaultValue: Value = .null, wireName: String? = nil,
    within: String? = nil, keep: Extremum? = nil, download: AssetDownload? = nil, from source: FieldSource? = nil,
    oneOf: [Value]? = nil, unknown: Value? = nil
  ) {
    self.name = name
    self.kind = kind
    self.defaultValue = defaultValue
    self.wireName = wireName ?? name
    self.within = within
    self.keep = keep
    self.download = kind == .asset ? download ?? .lazy : download
    self.source = source?.fitted(to: kind)
    self.oneOf = oneOf
    self.unknown = unknown
  }
}

/// A to-one reference: a last-writer-wins register that holds a record name. Declare one side; the inverse is a query.
public struct ReferenceSchema: Sendable, Hashable {
  /// The column's name, which cannot change between releases.
  public var name: String
  /// The type of record to which it refers.
  public var to: String
  /// The effect on this record when the target is deleted.
  public var onDelete: DeleteRule
  /// Whether the column has an index. Without one, deleting a target reads the whole table.
  public var isIndexed: Bool

  /// Creates a reference to records of the given type.
  public init(_ name: String, to: String, onDelete: DeleteRule = .nullify, isIndexed: Bool = true) {
    self.name = name
    self.to = to
    self.onDelete = onDelete
    self.isIndexed = isIndexed
  }
}

extension FieldSchema {
  /// What the field's key says of it (`FieldKey`).
  package var fieldKind: FieldKey.Kind { keep.map(FieldKey.Kind.extremum) ?? (kind == .counter ? .counter : .field) }

  /// The field's key on the wire (`FieldKey`).
  package var key: String { FieldKey.key(of: wireName, fieldKind) }
}

extension ReferenceSchema {
  /// The reference's key on the wire (`FieldKey`).
  package var key: String { FieldKey.key(of: name, .reference) }
}

/// A to-many relationship: an observed-remove set of record names, in a join table `Type_name` with the columns
/// `source` and `target`. A concurrent add wins over a remove.
public struct RelationshipSchema: Sendable, Hashable {
  /// The relationship's name, which is also the second part of the join table's name.
  public var name: String
  /// The type of the members.
  public var to: String
  /// Whether people arrange the members in an order. Once a file has ordered a relationship, it remains ordered there.
  public var isOrdered: Bool

  /// Creates a relationship with a name and the type of its members.
  public init(_ name: String, to: String, ordered: Bool = false) {
    self.name = name
    self.to = to
    isOrdered = ordered
  }
}

/// The effect of a user's edit of a seeded record on later versions of the seed.
public enum SeedFollowing: String, Sendable, Codable {
  /// The record belongs to the user from then on: later versions change nothing in it.
  case untilEdited
  /// Fields that the user has not edited continue to follow the seed.
  case perField
}

/// The declaration of one entity: its table, its columns, and how each column merges.
///
/// ```swift
/// static let schema = EntitySchema(
///   "SBGame",
///   .text("name"), .real("rating"),
///   .reference("owner", to: "SBPerson", onDelete: .cascade),
///   .toMany("players", to: "SBPerson"))
/// ```
///
/// - A field (`text`, `integer`, `real`, `bool`, `date`, `uuid`, `blob`, `json`, `asset`, `position`) is a column. Of
///   concurrent writes the later one wins as a whole; the other is in the conflict journal.
/// - A `counter` is a column to which devices add: every device's additions count.
/// - A number with `keep:` keeps the greatest or the least of all values.
/// - A `reference` is a column with the name of one record. It merges like a field.
/// - A `toMany` is a join table. A remove affects only the adds that the remover had seen; concurrent adds survive.
///
/// Every table has an undeclared column `id`. A field with a default is NOT NULL; every other column can be null.
///
/// A later release may add entities, fields, references and relationships, rename fields (`renamedFrom:`), and change
/// delete rules, ``deleteWins``, ``follows``, ``unique``, lists of values (`oneOf:`) and indexes. It may omit what it
/// no longer uses: the data stays in the file and on other devices. It cannot change a field's kind or default, or the
/// type that a reference names: opening the store then throws `StoreError.incompatibleSchema`. Declare a field under a
/// new name instead; with `from:` it takes the place of the old one, also for older versions (``FieldSource``).
///
/// Mistakes, such as an invalid name, are reported as `StoreError.invalidSchema` when a store is opened, and by
/// ``Schema/validate()``.
public struct EntitySchema: Sendable, Hashable {
  /// One column or relationship of an entity.
  public enum Property: Sendable {
    /// A column that holds a value. Declare it with `text`, `integer`, `real`, `bool`, `date`, `uuid`, `blob`, `json`,
    /// `position` or `counter`.
    case field(FieldSchema)
    /// A column with the name of one other record. Declare it with `reference`.
    case reference(ReferenceSchema)
    /// A set of other records, in a join table. Declare it with `toMany`.
    case relationship(RelationshipSchema)
  }

  /// The type, which is also the table's name and the first part of the records' names: a letter, then letters, digits
  /// and underscores, at most 64 bytes. It cannot change; the Swift type may have any name, and another one later.
  public var type: String
  /// The columns with values, in the order of their declaration.
  public var fields: [FieldSchema]
  /// The columns that name one other record each.
  public var references: [ReferenceSchema]
  /// The sets of other records, each with a join table.
  public var relationships: [RelationshipSchema]
  /// Whether a delete beats concurrent edits. By default a concurrent edit keeps the record, and the delete is in the
  /// conflict journal as ``Conflict/Kind/deleteUndone``.
  ///
  /// With `true` the record disappears, and the edit is in the journal as ``Conflict/Kind/deleted``. Restoring that
  /// entry brings back both the record and the edit.
  public var deleteWins: Bool
  /// The effect of a user's edit on later versions of a seed: whether the whole record belongs to the user from then
  /// on, or only the edited fields. See ``SeedSet``.
  public var follows: SeedFollowing
  /// The fields whose values no two records show at the same time, and what the second record shows instead. A release
  /// may add, change and remove them. Devices whose schemas differ in them show different rows for equal states.
  public var unique: [UniqueRule]

  /// Declares an entity with the given columns and relationships.
  ///
  /// ```swift
  /// let schema = EntitySchema("Note", deleteWins: true, .text("text", default: ""), .date("due"))
  /// ```
  ///
  /// Mistakes, such as an invalid name, are reported when a store is opened (`StoreError.invalidSchema`).
  /// - Parameters:
  ///   - type: the table's name, and the first part of the records' names. It cannot change.
  ///   - deleteWins: whether a delete beats concurrent edits; see ``deleteWins``.
  ///   - follows: how a user's edit of a seeded record affects later versions of the seed.
  ///   - unique: the fields whose values no two records show at the same time; see ``UniqueRule``.
  ///   - properties: the columns and relationships. Their order is that of a new table's columns, and has no other
  ///     meaning.
  public init(
    _ type: String, deleteWins: Bool = false, follows: SeedFollowing = .untilEdited, unique: [UniqueRule] = [],
    _ properties: Property...
  ) {
    self.init(type: type, deleteWins: deleteWins, follows: follows, unique: unique)
    for property in properties {
      switch property {
      case .field(let field): fields.append(field)
      case .reference(let reference): references.append(reference)
      case .relationship(let relationship): relationships.append(relationship)
      }
    }
  }

  /// Declares an entity from its parts, for a schema that is built at run time. See the form with properties.
  ///
  /// ```swift
  /// let schema = EntitySchema(type: "Note", fields: [])
  /// ```
  ///
  /// The types of the parts, such as `FieldSchema`, are in `TallyStore`.
  public init(
    type: String, fields: [FieldSchema] = [], references: [ReferenceSchema] = [],
    relationships: [RelationshipSchema] = [], deleteWins: Bool = false, follows: SeedFollowing = .untilEdited,
    unique: [UniqueRule] = []
  ) {
    self.type = type
    self.fields = fields
    self.references = references
    self.relationships = relationships
    self.deleteWins = deleteWins
    self.follows = follows
    self.unique = unique
  }
}
