import TallyCRDT
import TallyWire

/// The effect on a record when the record that it refers to is deleted.
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
  /// The column's name, which may change between releases; see `wireName`.
  public var name: String
  /// The kind of value that the column holds.
  public var kind: FieldKind
  /// The value of the field when it was never written. A column with a default is NOT NULL.
  public var defaultValue: Value
  /// The name on the wire and in the file. Stays when the column is renamed.
  public var wireName: String
  /// Of a position, the reference to the record whose list it orders; nil for every other kind.
  public var within: String?
  /// Of a number, which of concurrent values stays; nil for the later one, as in every other column.
  public var keep: Extremum?

  /// Creates a column. Its wire name is its name unless it is given.
  public init(
    _ name: String, _ kind: FieldKind, default defaultValue: Value = .null, wireName: String? = nil,
    within: String? = nil, keep: Extremum? = nil
  ) {
    self.name = name
    self.kind = kind
    self.defaultValue = defaultValue
    self.wireName = wireName ?? name
    self.within = within
    self.keep = keep
  }
}

/// A to-one reference: a last-writer-wins register that holds a record name. Store one side; the inverse is a query.
public struct ReferenceSchema: Sendable, Hashable {
  /// The column's name, which cannot change between releases.
  public var name: String
  /// The type it refers to.
  public var to: String
  /// The effect on this record when the target is deleted.
  public var onDelete: DeleteRule
  /// Whether the column has an index. Deleting a target without one reads the whole table.
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
  /// The name, which is also the second part of the join table's.
  public var name: String
  /// The type of the members.
  public var to: String
  /// Whether the members have an order that people give them. Once it has, a file goes on having it.
  public var isOrdered: Bool

  /// Creates a relationship of a name, with members of the given type.
  public init(_ name: String, to: String, ordered: Bool = false) {
    self.name = name
    self.to = to
    isOrdered = ordered
  }
}

/// The effect of a user's edit of a seeded record on later versions of the seed.
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
///
/// - A field (`text`, `integer`, `real`, `bool`, `date`, `uuid`, `blob`, `json`, `position`) is a column. Of concurrent
///   writes the later stays, as a whole; the other is in the conflict journal.
/// - A `counter` is a column to which devices add: what each of them adds counts.
/// - A number with `keep:` keeps the greatest or the least value of all.
/// - A `reference` is a column with the name of one record, and merges in the same way.
/// - A `toMany` is a join table. Of concurrent changes all adds stay that the remover had not seen.
///
/// The column `id` is there without being declared. A field with a default is NOT NULL; every other column can be null.
///
/// A later release may add entities, fields, references and relationships, rename fields (`renamedFrom:`), and change
/// delete rules, ``deleteWins``, ``follows``, ``unique`` and indexes. It may leave out what it no longer uses: that
/// stays in the file and on other devices. It cannot change a field's kind or default, or what a reference names:
/// opening the store throws `StoreError.incompatibleSchema`, and a field under a new name is the way.
///
/// Mistakes, such as an invalid name, are found when a store is opened, or by ``Schema/validate()``:
/// `StoreError.invalidSchema`.
public struct EntitySchema: Sendable, Hashable {
  /// One column or relationship of an entity.
  public enum Property: Sendable {
    /// A column that holds a value. Declare it with `text`, `integer`, `real`, `bool`, `date`, `uuid`, `blob`, `json`
    /// `position` or `counter`.
    case field(FieldSchema)
    /// A column with the name of one other record. Declare it with `reference`.
    case reference(ReferenceSchema)
    /// A set of other records, in a join table. Declare it with `toMany`.
    case relationship(RelationshipSchema)
  }

  /// The type, which is also the table's name and the first part of the records' names: a letter, then letters, digits
  /// and underscores, at most 64 bytes. It cannot change, whatever becomes of the Swift type's name.
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
  /// With `true` the record goes, and the edit is in the journal as ``Conflict/Kind/deleted``; restoring that entry
  /// brings back both.
  public var deleteWins: Bool
  /// The meaning of a person's edit for later versions of a seed: whether the record is theirs as a whole from then on,
  /// or only the fields that they have edited. See ``SeedSet``.
  public var follows: SeedFollowing
  /// The fields whose values no two records show at the same time, and what the second one shows instead. They may
  /// come, change and go with a release; devices whose schemas differ in them show different rows of equal states.
  public var unique: [UniqueRule]

  /// Declares an entity of the given columns and relationships.
  ///
  /// ```swift
  /// let schema = EntitySchema("Note", deleteWins: true, .text("text", default: ""), .date("due"))
  /// ```
  ///
  /// Mistakes, such as an invalid name, are found when a store is opened (`StoreError.invalidSchema`).
  /// - Parameters:
  ///   - type: the table's name, and the first part of the records' names. It cannot change.
  ///   - deleteWins: whether a delete beats concurrent edits; see ``deleteWins``.
  ///   - follows: what a person's edit of a seeded record means for later versions of the seed.
  ///   - unique: fields whose values no two records show at the same time; see ``UniqueRule``.
  ///   - properties: the columns and relationships. Their order is that of a new table's columns, and means nothing
  ///     else.
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

  /// Declares an entity of parts, for a schema that is made at run time. See the form with properties.
  ///
  /// ```swift
  /// let schema = EntitySchema(type: "Note", fields: [])
  /// ```
  ///
  /// Its types, `FieldSchema` and the like, are in `TallyStore`.
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
