import TallyCRDT
import TallyWire

/// The entities of a store, which together make its tables.
///
/// ```swift
/// let schema = Schema(Person.self, Game.self)
/// let store = try Store(path: path, schema: schema)
/// ```
///
/// The order of the entities does not matter. Every type that a reference or relationship names must be among them. A
/// later release may declare more, or rename columns by their wire names; opening the store alters its tables in one
/// transaction. Anything that a schema no longer declares stays in the file and on other devices: ``EntitySchema``
/// lists what can change and what cannot. ``Store/schema`` is the schema of the file, with everything ever declared.
///
/// Two versions of an app sync with each other: each keeps and forwards data that it does not know.
///
/// The calls below that take a `db`, a name and values are for tools without Swift types; apps use GRDB's records.
/// SwiftData also has a class of this name: where both are imported, write `Tally.Schema`.
public struct Schema: Sendable, Hashable, Codable {
  /// The declared entities, in the order of their declaration.
  public var entities: [EntitySchema]
  private var declarations = Declarations()

  private enum CodingKeys: CodingKey { case entities }

  /// Creates a schema of entities that are known only at run time, for tools.
  ///
  /// ```swift
  /// let schema = Schema([EntitySchema("Note", .text("text"))])
  /// ```
  ///
  /// Nothing is checked until `validate()` is called or a store is opened.
  public init(_ entities: [EntitySchema] = []) { self.entities = entities }

  /// Creates the schema of these entity types.
  ///
  /// ```swift
  /// let store = try Store(inMemory: Schema(Person.self, Game.self))
  /// ```
  ///
  /// When a store is opened, a debug build compares each `Codable` type with its schema: the type may write only
  /// columns, with their storage classes. ``checkDeclarations()`` does so at any time.
  /// - Parameter types: the entity types, each once.
  public init(_ types: any Entity.Type...) {
    entities = types.map { $0.schema }
    declarations.types = types
  }

  /// Compares the types from which this schema was made with their schemas. It compares those that are `Codable` and
  /// can be decoded from nothing. In a debug build, opening a store does the same; in a release build only this call
  /// does.
  ///
  /// ```swift
  /// try schema.checkDeclarations()   // in a test of the app's
  /// ```
  ///
  /// Each type is decoded once, from nothing. A schema made of ``EntitySchema`` values has no types to compare.
  /// - Throws: `StoreError.invalidSchema`, which names the property: one that is not a column, or one that is written
  ///   with another storage class than its column's, such as a reference declared as a `UUID`, which would be a blob.
  public func checkDeclarations() throws(StoreError) {
    for type in declarations.types { try RecordShape.check(type) }
  }

  /// The types that a schema was made of. They are no part of what makes two schemas equal.
  private struct Declarations: Sendable, Hashable {
    var types: [any Entity.Type] = []
    static func == (lhs: Declarations, rhs: Declarations) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
  }

  /// The entity with a type, by the name in its ``EntitySchema``; nil if the schema does not have it.
  public subscript(type: String) -> EntitySchema? { entities.first { $0.type == type } }

  /// Returns the name of the join table of a relationship, `Type_relationship`, for raw SQL. See `Relationship.table`.
  public static func joinTable(_ type: String, _ relationship: String) -> String { "\(type)_\(relationship)" }

  /// Checks the rules for schemas: names, defaults, and that each referenced type exists. Opening a store does the
  /// same.
  ///
  /// ```swift
  /// try Schema([EntitySchema("Note", .text("text"))]).validate()
  /// ```
  ///
  /// A name is a letter followed by letters, digits and underscores, has at most 64 bytes, and does not begin with
  /// `tally_` or `sqlite_`. Two names that differ only in case count as the same. No column is called `id`, nor
  /// `rowid`, `oid` or `_rowid_`, which SQLite reads as a row's number. Nothing is read or written.
  /// - Throws: `StoreError.invalidSchema` with the first rule that is broken.
  public func validate() throws(StoreError) {
    var tables = Set<String>()
    for entity in entities {
      try Self.check(identifier: entity.type, "type")
      guard entity.type.lowercased() != SeedHistory.setType.lowercased() else {
        throw StoreError(.invalidSchema, "the type \(SeedHistory.setType) is Tally's own")
      }
      try Self.check(entity)
      try Self.insert(entity.type, into: &tables, "table")
      for relationship in entity.relationships {
        try Self.insert(Self.joinTable(entity.type, relationship.name), into: &tables, "table")
      }
    }
    for entity in entities {
      for target in entity.references.map(\.to) + entity.relationships.map(\.to) where self[target] == nil {
        throw StoreError(
          .invalidSchema,
          "\(entity.type) refers to the type \(printable(target)), which is not in the schema\(hint(forType: target))")
      }
    }
  }

  private static func check(_ entity: EntitySchema) throws(StoreError) {
    try entity.checkSourceNames()
    var columns = Set<String>()
    var wireNames = Set<String>()
    for field in entity.fields {
      try check(identifier: field.name, "field")
      try check(identifier: field.wireName, "wire name")
      try insert(column: field.name, into: &columns, entity.type)
      try insert(field.wireName, into: &wireNames, "wire")
      guard field.defaultValue.isNull || field.kind.accepts(field.defaultValue) else {
        throw StoreError(
          .invalidSchema, "the default of \(entity.type).\(field.name) is not of kind \(field.kind.rawValue)")
      }
      guard field.kind != .counter || !field.defaultValue.isNull else {
        throw StoreError(.invalidSchema, "the counter \(entity.type).\(field.name) has no default, such as 0")
      }
      guard field.defaultValue.canBeDeclared else {
        throw StoreError(
          .invalidSchema,
          "the default of \(entity.type).\(field.name) has no literal in SQL: use a finite number, or a text without NUL"
        )
      }
    }
    for field in entity.fields { try check(field, in: entity) }
    for reference in entity.references {
      try check(identifier: reference.name, "reference")
      try insert(column: reference.name, into: &columns, entity.type)
      try insert(reference.name, into: &wireNames, "wire")
    }
    guard wireNames.count <= WireLimits.fields else {
      throw StoreError(.invalidSchema, "\(entity.type) has more than \(WireLimits.fields) fields")
    }
    try entity.checkUnique()
    try entity.checkSources()
    var relationships = Set<String>()
    for relationship in entity.relationships {
      try check(identifier: relationship.name, "relationship")
      try insert(relationship.name, into: &relationships, "relationship")
    }
  }

  /// Checks what only some kinds of fields have.
  private static func check(_ field: FieldSchema, in entity: EntitySchema) throws(StoreError) {
    try field.checkValues(entity.type)
    guard field.keep == nil || field.kind == .integer || field.kind == .real else {
      throw StoreError(
        .invalidSchema, "\(entity.type).\(field.name) is no integer or real, so it keeps no greatest or least")
    }
    guard (field.download == nil) == (field.kind != .asset) else {
      throw StoreError(.invalidSchema, "\(entity.type).\(field.name) is no asset, so it has no file to download")
    }
    guard field.kind != .asset || field.defaultValue.isNull else {
      throw StoreError(.invalidSchema, "\(entity.type).\(field.name) is an asset, which has no default")
    }
    guard field.kind == .position else {
      guard field.within == nil else {
        throw StoreError(.invalidSchema, "\(entity.type).\(field.name) is no position, so it is within no list")
      }
      return
    }
    guard let list = field.within, entity.references.contains(where: { $0.name == list }) else {
      throw StoreError(
        .invalidSchema,
        "\(entity.type).\(field.name) is a position within \(field.within.map(printable) ?? "nothing"): "
          + "name a reference of \(entity.type)")
    }
    guard field.defaultValue.isNull else {
      throw StoreError(.invalidSchema, "\(entity.type).\(field.name) is a position, which has no default")
    }
  }

  private static func check(identifier: String, _ what: String) throws(StoreError) {
    let isFine =
      identifier.utf8.count <= WireLimits.identifierBytes && AnyRecordName.isIdentifier(identifier.utf8)
      && !identifier.lowercased().hasPrefix("tally_") && !identifier.lowercased().hasPrefix("sqlite_")
    guard isFine else {
      throw StoreError(
        .invalidSchema,
        "invalid \(what) name \(printable(identifier)): a letter, then letters, digits and underscores, "
          + "at most \(WireLimits.identifierBytes) bytes, not beginning with tally_ or sqlite_")
    }
  }

  private static func insert(column: String, into names: inout Set<String>, _ type: String) throws(StoreError) {
    let reason: String
    switch column.lowercased() {
    case "id": reason = "is the name of the record"
    case "rowid", "oid", "_rowid_": reason = "is SQLite's name of a row's number"
    default: return try insert(column, into: &names, "column")
    }
    throw StoreError(
      .invalidSchema,
      "\(type) cannot have a column \(printable(column)), which \(reason); give the field another name")
  }

  private static func insert(_ name: String, into names: inout Set<String>, _ what: String) throws(StoreError) {
    guard names.insert(name.lowercased()).inserted else {
      throw StoreError(.invalidSchema, "the \(what) name \(printable(name)) is taken (case does not count)")
    }
  }
}

/// A text that is safe to print: short, without control characters.
package func printable(_ text: String) -> String {
  let safe = String(
    String.UnicodeScalarView(text.unicodeScalars.prefix(64).map { $0.value < 32 || $0.value == 127 ? "?" : $0 }))
  return "'\(safe)\(text.unicodeScalars.count > 64 ? "…" : "")'"
}

extension Value {
  /// Whether SQL has a literal for the value, so that it can be a column's default.
  fileprivate var canBeDeclared: Bool {
    switch self {
    case .real(let number): number.isFinite
    case .text(let text): !text.utf8.contains(0)
    default: true
    }
  }
}
