import Foundation
import TallyStore

/// A description of how the tables of another SQLite database become records of a store, for
/// `Store.importDatabase(at:map:)`.
///
/// ```swift
/// let map = ImportMap(
///   tables: [
///     .init(from: "ZLIST", to: "ShoppingList", fields: ["title": "ZTITLE"]),
///     .init(from: "ZTAG", to: "Tag", fields: ["name": "ZNAME"]),
///     .init(from: "ZITEM", to: "Item", fields: [
///       "title": "ZTITLE", "due": .init(column: "ZDUE", as: .coreDataSeconds), "list": "ZLIST",
///     ]),
///   ],
///   links: [.init(from: "Z_1TAGS", to: "Item.tags", source: "Z_1ITEMS", target: "Z_2TAGS")])
/// ```
///
/// As a file it is JSON of the same words:
///
/// ```json
/// {"tables": [{"from": "ZLIST", "to": "ShoppingList", "fields": {"title": "ZTITLE"}}]}
/// ```
///
/// A column is its name, or an object such as `{"column": "ZDUE", "as": "coreDataSeconds"}` or
/// `{"sql": "trim(ZNOTES)"}`.
///
/// A field of kind `asset` takes a column of blobs, each of which becomes a file beside the store, or one of paths:
/// `{"column": "photo", "as": "path"}`, which are relative to the map's `folder`. Of several rows with the same bytes
/// there is one file; null, a blob without bytes and an empty path are null.
///
/// Names of records follow from the old ids, so that devices which import the same record, each from its own file,
/// have one record and not two:
///
/// | old id | key of the record |
/// | --- | --- |
/// | a UUID, as text or as sixteen bytes | the UUID in small letters |
/// | another text | the text, which must be printable ASCII |
/// | a number | a UUID of `namespace`, the table's name and the number |
///
/// Numbers are given by each device for itself, so number 7 of two devices is not one record: by default each store
/// takes a namespace of its own, and two devices that both import have everything twice. Import on one device then, and
/// let the others sync; or, where the file is the same everywhere, say so with one namespace in the map.
public struct ImportMap: Sendable, Equatable {
  /// The name of the import, under which the store notes how far it is; nil for the name of the imported file.
  public var name: String?
  /// The namespace of the records whose old ids are numbers; nil for one that only this store has.
  public var namespace: UUID?
  /// The folder of the files that columns of the form `path` name: absolute, or relative to the folder of the imported
  /// database, for which `.` stands. Nil if no column has that form.
  public var folder: String?
  /// The tables whose rows become records.
  public var tables: [Table]
  /// The tables whose rows become members of relationships.
  public var links: [Links]
  /// The tables, and the entities of Core Data's, whose rows are to stay behind: `ImportReport.leftOut` does not count
  /// them.
  public var leavesOut: [String]

  /// Creates a map. It is checked when an import begins (`StoreError.invalidMap`), before anything is written.
  ///
  /// ```swift
  /// let pictures = ImportMap(
  ///   folder: "Pictures",
  ///   tables: [.init(from: "person", to: "Person", fields: ["photo": .init(column: "photo", as: .path)])])
  /// ```
  /// - Parameters:
  ///   - name: what the store notes the progress under; nil for the name of the file. Two imports need two names.
  ///   - namespace: for old ids that are numbers. Nil for one that only this store has; the same one on every device
  ///     only if the file is the same everywhere.
  ///   - folder: the folder of the files that columns of the form `path` name, absolute or relative to that of the
  ///     imported database. A path that leads out of it stops the import.
  ///   - tables: the tables whose rows become records, in any order: those that others refer to come first.
  ///   - links: the join tables. They come last, when all records are there.
  ///   - leavesOut: the tables and Core Data entities whose rows are meant to stay behind.
  public init(
    name: String? = nil, namespace: UUID? = nil, folder: String? = nil, tables: [Table], links: [Links] = [],
    leavesOut: [String] = []
  ) {
    (self.name, self.namespace, self.folder, self.tables) = (name, namespace, folder, tables)
    (self.links, self.leavesOut) = (links, leavesOut)
  }

  /// A table whose rows become records of one type.
  public struct Table: Sendable, Equatable {
    /// The name of the old table.
    public var from: String
    /// The type of the records.
    public var to: String
    /// The column to which references of other rows refer; nil for the primary key, or the rowid if there is none.
    public var key: ImportColumn?
    /// The column that names the record; nil for `key`.
    public var id: ImportColumn?
    /// A condition in SQL: only rows that fulfill it are imported.
    public var condition: String?
    /// The columns for the entity's fields and references. Fields that are not listed keep their defaults. A reference
    /// takes a column with the old key of its target.
    public var fields: [String: ImportColumn]

    /// Says that the rows of a table become records of one type.
    ///
    /// ```swift
    /// let lists = ImportMap.Table(from: "ZLIST", to: "ShoppingList", fields: ["title": "ZTITLE"])
    /// ```
    /// - Parameters:
    ///   - from: the old table.
    ///   - to: the type of the records. Only one table of a map can become a type.
    ///   - key: the column to which other rows refer; the primary key unless given. Give it an index, since each
    ///     reference is looked up.
    ///   - id: the column that names the record; `key` unless given. A UUID names the same record on every device.
    ///   - condition: an SQL expression; rows for which it is not true are left out.
    ///   - fields: the column for each field and reference of the entity.
    public init(
      from: String, to: String, key: ImportColumn? = nil, id: ImportColumn? = nil, where condition: String? = nil,
      fields: [String: ImportColumn]
    ) {
      (self.from, self.to, self.key, self.id) = (from, to, key, id)
      (self.condition, self.fields) = (condition, fields)
    }
  }

  /// A join table whose rows become members of a relationship.
  public struct Links: Sendable, Equatable {
    /// The name of the old table.
    public var from: String
    /// The type and the relationship: `Item.tags`.
    public var to: String
    /// The column with the old key of the record that has the relationship.
    public var source: ImportColumn
    /// The column with the old key of the member.
    public var target: ImportColumn
    /// The column by which a record's members are ordered; nil for none. The relationship must be an ordered one.
    public var order: ImportColumn?
    /// A condition in SQL: only rows that fulfill it are imported.
    public var condition: String?

    /// Says that the rows of a join table become members of a relationship.
    ///
    /// ```swift
    /// let tags = ImportMap.Links(from: "Z_1TAGS", to: "Item.tags", source: "Z_1ITEMS", target: "Z_2TAGS")
    /// ```
    /// - Parameters:
    ///   - from: the old join table.
    ///   - to: the type and the relationship, with a dot between them.
    ///   - source: the column with the old key of the record that has the relationship.
    ///   - target: the column with the old key of the member, whose table must be in the map, too.
    ///   - order: the column by which the members of a record are ordered, for an ordered relationship: `Z_FOK_1ITEMS`
    ///     beside `Z_1ITEMS`. Members without a value come last. Where the list has members already, these come behind.
    ///   - condition: an SQL expression; rows for which it is not true are left out.
    public init(
      from: String, to: String, source: ImportColumn, target: ImportColumn, order: ImportColumn? = nil,
      where condition: String? = nil
    ) {
      (self.from, self.to, self.source, self.target, self.order) = (from, to, source, target, order)
      self.condition = condition
    }
  }
}

/// A column of an imported table, or an expression over its columns. A string literal is a column's name.
public struct ImportColumn: Sendable, Equatable, ExpressibleByStringLiteral {
  /// A form of values that SQLite's types do not tell.
  public enum Form: String, Sendable, CaseIterable {
    /// A number of seconds since 1970, for a date.
    case unixSeconds
    /// A number of milliseconds since 1970, for a date.
    case unixMilliseconds
    /// A number of seconds since 2001, for a date: as Core Data and SwiftData store a `Date`.
    case coreDataSeconds
    /// A blob of UTF-8, for a text or JSON.
    case utf8
    /// The binary data of an attribute that allows external storage, as Core Data and SwiftData store it: in the row,
    /// or in a file of the hidden folder beside the database, `.NAME_SUPPORT/_EXTERNAL_DATA` for `NAME.sqlite`. A file
    /// that is not there stops the import. In a field of kind `asset` it may have up to `AssetName.byteLimit` bytes.
    case coreDataBlob
    /// The path of a file in `ImportMap.folder`, for an asset: a copy of the file becomes the asset. A path that is
    /// absolute, has `..` in it, or leaves the folder by a symbolic link stops the import, and so does a file that is
    /// not there.
    case path
  }

  /// The source of a value.
  public enum Expression: Sendable, Equatable {
    /// The name of a column of the imported table.
    case column(String)
    /// An expression of SQLite's over the columns of the table.
    case sql(String)
  }

  /// The column or expression that gives the value.
  public var expression: Expression
  /// The form of its values; nil if their storage class says all.
  public var form: Form?
  /// The extension of the files of an asset, such as `jpg`: 1 to 12 lowercase letters and digits. Nil for that of the
  /// path; without a path, or if it has none, it is recognized from the first bytes: `png`, `jpg`, `gif`, `webp`,
  /// `heic`, `pdf`, otherwise `bin`.
  public var type: String?
  /// Whether a reference to a row that is not there, or is not imported, becomes null, or a link with such an end is
  /// left out. Otherwise the import stops at it.
  public var skipsMissing: Bool

  /// Takes the values of a column.
  ///
  /// ```swift
  /// let photo = ImportColumn(column: "ZPHOTO", as: .coreDataBlob, type: "jpg")
  /// ```
  /// - Parameters:
  ///   - column: the name of the column in the imported table.
  ///   - form: what its values are, if SQLite's types do not tell: `.coreDataSeconds` for a `Date` of Core Data,
  ///     `.utf8` for a text in a blob, `.path` for the name of a file.
  ///   - type: for an asset: the extension of its files. Nil for that of the path, or what the bytes begin with.
  ///   - skipsMissing: for a reference or an end of a link: leaves it empty if the target is not imported. Otherwise
  ///     the import stops there.
  public init(column: String, as form: Form? = nil, type: String? = nil, skipsMissing: Bool = false) {
    (expression, self.form, self.type, self.skipsMissing) = (.column(column), form, type, skipsMissing)
  }

  /// Computes the value from the columns of the row, with an expression of SQLite's.
  ///
  /// ```swift
  /// let note = ImportColumn(sql: "trim(coalesce(ZNOTES, ''))")
  /// ```
  ///
  /// The other parameters are those of `init(column:as:type:skipsMissing:)`. An expression that SQLite cannot compute
  /// is `StoreError.invalidMap`.
  public init(sql: String, as form: Form? = nil, type: String? = nil, skipsMissing: Bool = false) {
    (expression, self.form, self.type, self.skipsMissing) = (.sql(sql), form, type, skipsMissing)
  }

  /// A column by its name.
  public init(stringLiteral column: String) { self.init(column: column) }
}
