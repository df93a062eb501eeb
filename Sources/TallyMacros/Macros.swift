#if Macros
  @_exported import GRDB
  import TallyStore

  /// Makes a struct an entity: its schema, its columns and its conformances follow from its stored properties.
  ///
  /// ```swift
  /// @Entity struct Person {
  ///   var id = RecordName<Person>()
  ///   var name = ""
  /// }
  ///
  /// @Entity("BoardGame") struct Game {
  ///   enum Level: String { case easy, hard }
  ///
  ///   var id = RecordName<Game>()
  ///   var title = ""
  ///   var minutes: Int?
  ///   var level: Level = .easy
  ///   var boughtAt = Date()
  ///   @Field(onDelete: .cascade) var owner: RecordName<Person>?
  ///   @Members static var players: Relationship<Game, Person>
  /// }
  /// ```
  ///
  /// The struct becomes an `Entity`, which is `Identifiable` and `Sendable`, a `FetchableRecord` and a
  /// `PersistableRecord`. The macro adds `schema`, `databaseTableName`, GRDB's `Columns`, and, unless the struct has
  /// initializers of its own, a memberwise initializer with the struct's access level. Add `Equatable`, `Codable` and
  /// anything else you need yourself.
  ///
  /// Each stored property is a column:
  ///
  /// | property | column |
  /// | --- | --- |
  /// | `String`, `URL`, `Decimal` | text |
  /// | `Int` and the other integers up to 64 bits | integer |
  /// | `Double`, `Float` | real |
  /// | `Bool` | bool |
  /// | `Date` · `Data` · `UUID` | date · blob · uuid |
  /// | `RecordName<X>?` | a to-one reference |
  /// | `ListPosition?` | a position in a list, with `@Field(within:)` |
  /// | `AssetName?` | an asset: a file beside the store, such as a picture |
  /// | a type with a raw value | as its raw value |
  /// | any other `Codable` type | json |
  ///
  /// The column of a `T?` is nullable. Any other property needs a default, because another device may not know the
  /// field or may never have written it. For text, numbers and Boolean values, a literal, an enum's case or a static
  /// member is also the column's default and must not change. A computed default, such as `Date()`, is evaluated for
  /// each new record; its column is null until it is written.
  ///
  /// A value that cannot be read never makes a whole fetch fail: an enum's case from a newer version of the app, JSON
  /// of another shape, or a null is read as the default or as nil, and is logged once at the level warning under the
  /// label `tally.entity`. Saving the record writes the value back unchanged, unless the property was set to something
  /// else. JSON keeps the keys that this version of the type does not know, and an unchanged value keeps its text. Only
  /// a row without a readable `id` throws.
  ///
  /// A declaration that cannot be a table does not compile, and the error gives the reason: a class, a generic struct,
  /// a property without a default, an `id` that is not a `RecordName` of this struct, and others that the page
  /// "Defining entities" lists.
  ///
  /// - Parameters:
  ///   - type: the type of the records, which is also the table's name and never changes; by default the struct's name.
  ///   - deleteWins: whether a delete beats concurrent edits. By default a concurrent edit keeps the record.
  ///   - follows: how a user's edit of a seeded record affects later versions of the seed.
  ///   - unique: the properties whose values no two records show at the same time, and what the second record shows.
  ///     They must be optional and have no default.
  @attached(
    member, names: named(schema), named(databaseTableName), named(Columns), named(EntityColumns), named(unreadValues),
    named(init), named(encode))
  @attached(memberAttribute)
  // Of what these imply the compiler finds TableRecord and Identifiable only if they are listed, where a file mentions
  // the struct of another one for the first time: `Item.fetchCount(db)`, `Item.ID`.
  @attached(extension, conformances: TableRecord, Identifiable, Entity, FetchableRecord, PersistableRecord)
  public macro Entity(
    _ type: String? = nil, deleteWins: Bool = false, follows: SeedFollowing = .untilEdited, unique: [UniqueRule] = []
  ) =
    #externalMacro(module: "TallyMacroPlugin", type: "EntityExpansion")

  /// Remembers that a property was set. `@Entity` adds it where a column may hold a value that the property cannot
  /// show; you never need to write it.
  ///
  /// Without it, a record could not distinguish a person who chose another value and then the first one again from one
  /// who made no choice.
  @attached(accessor, names: named(didSet), named(willSet))
  public macro Tracked() = #externalMacro(module: "TallyMacroPlugin", type: "TrackedExpansion")

  /// Sets options of a stored property of an `@Entity` struct.
  ///
  /// ```swift
  /// @Entity struct Score {
  ///   var id = RecordName<Score>()
  ///   @Field(renamedFrom: "value") var points = 0
  ///   @Field(from: .lens("price", .real, .scale(100))) var cents: Int?
  ///   @Field(onDelete: .cascade) var game: RecordName<Game>?
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - renamedFrom: the name under which the field was first declared, which remains its name on other devices and in
  ///     the file. Keep it however often the property is renamed. References cannot be renamed.
  ///   - from: for a text, a number or a Boolean value: the older field whose place it takes, such as
  ///     `.lens("price", .real, .scale(100))`; see `FieldSource`. It cannot change.
  ///   - onDelete: for a reference: what happens to this record when the target is deleted; by default `.nullify`.
  ///   - isIndexed: for a reference: whether its column has an index; by default true. Without one, deleting a target
  ///     reads the whole table.
  ///   - within: for a position: the name of the reference to the record whose list it orders.
  ///   - download: for an asset: when a device gets its file; by default when the app asks for it.
  @attached(peer)
  public macro Field(
    renamedFrom: String? = nil, from: FieldSource? = nil, onDelete: DeleteRule = .nullify, isIndexed: Bool = true,
    within: String? = nil, download: AssetDownload = .lazy
  ) = #externalMacro(module: "TallyMacroPlugin", type: "FieldExpansion")

  /// Makes the cases of an enum all values that this version of the app writes to a column.
  ///
  /// ```swift
  /// @Entity struct Errand {
  ///   enum State: String, CaseIterable { case open, done }
  ///
  ///   var id = RecordName<Errand>()
  ///   @Field(unknown: State.open) var state: State = .open
  /// }
  /// ```
  ///
  /// SQL that writes any other value fails with `StoreError.typeMismatch`. A case that only a newer version has arrives
  /// all the same: the column shows it, the property reads as `unknown`, and saving the record writes the value back
  /// unchanged, unless the property was set to something else. Without this, such a value reads as the property's
  /// default, and SQL may write any.
  ///
  /// The enum may get cases and lose them with each version.
  /// - Parameters:
  ///   - unknown: the case, with its type, as which the property reads any other value.
  ///   - renamedFrom: the name under which the field was first declared.
  ///   - from: the older field whose place it takes; see `FieldSource`.
  @attached(peer)
  public macro Field<Case: RawRepresentable & CaseIterable>(
    unknown: Case, renamedFrom: String? = nil, from: FieldSource? = nil
  ) = #externalMacro(module: "TallyMacroPlugin", type: "FieldExpansion")

  /// The way in which a property of an `@Entity` merges if it is not that the later write wins.
  public enum FieldMerge: Sendable {
    /// All additions of all devices count.
    case counter
    /// The greatest value that any device has written wins.
    case greatest
    /// The least value that any device has written wins.
    case least
  }

  /// Makes a number of an `@Entity` merge: as a counter, to which devices add and in which every addition counts, or as
  /// a number that keeps the greatest or the least value.
  ///
  /// ```swift
  /// @Entity struct Game {
  ///   var id = RecordName<Game>()
  ///   @Field(.counter) var score = 0
  /// }
  /// ```
  ///
  /// The struct gets a static property of the same name, a `Counter`: `try Game.score.add(1, to: chess.id, in: db)`
  /// adds to it, and `set` sets it. Saving the struct is an addition too: it adds the difference from the value that
  /// the row shows at that time, so saving a struct that was read before a sync undoes what the sync added. GRDB's
  /// `updateChanges` writes only what the app has changed.
  ///
  /// With `.greatest` and `.least` the static property is a `KeptField`, which can set the number. SQL and structs
  /// raise the column itself, and a lesser value is replaced by the kept one.
  ///
  /// - Parameters:
  ///   - merge: `.counter`, `.greatest` or `.least`. The property's default must be a literal, because it is part of
  ///     the schema and cannot change.
  ///   - renamedFrom: the name under which the field was first declared.
  @attached(peer, names: overloaded)
  public macro Field(_ merge: FieldMerge, renamedFrom: String? = nil) =
    #externalMacro(module: "TallyMacroPlugin", type: "FieldExpansion")

  /// Declares a to-many relationship of an `@Entity`: an observed-remove set of records.
  ///
  /// ```swift
  /// @Entity struct Club {
  ///   var id = RecordName<Club>()
  ///   @Members static var members: Relationship<Club, Person>
  /// }
  /// ```
  ///
  /// With `@Members(ordered: true)`, people can arrange the members in an order.
  ///
  /// `try Club.members.insert(db, ann.id, to: chessClub.id)` adds a member. It merges with the adds and removes of
  /// other devices as described for `Relationship`.
  ///
  /// The property's name is the relationship's name; with the entity's name it forms the name of the join table,
  /// `Club_members`. Neither can change.
  @attached(accessor)
  public macro Members(ordered: Bool = false) = #externalMacro(module: "TallyMacroPlugin", type: "MembersExpansion")
#endif
