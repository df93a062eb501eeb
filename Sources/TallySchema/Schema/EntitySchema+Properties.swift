import TallyCRDT

extension EntitySchema.Property {
  /// A column of texts in UTF-8, NOT NULL if it has a default.
  ///
  /// ```swift
  /// let note = EntitySchema("Note", .text("title", default: ""), .text("body", renamedFrom: "text"))
  /// ```
  ///
  /// A text merges as a whole. The default is part of the schema and cannot change.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - value: the value of records that have none; nil for null.
  ///   - oldName: the name under which the column was first declared, if it was renamed since. It stays however often
  ///     the column is renamed, since other devices go on using it.
  /// - Returns: the column, for a schema.
  public static func text(_ name: String, default value: String? = nil, renamedFrom oldName: String? = nil) -> Self {
    .field(FieldSchema(name, .text, default: Value(text: value), wireName: oldName))
  }
  /// A column of signed 64-bit integers, NOT NULL if it has a default.
  ///
  /// ```swift
  /// let item = EntitySchema("Item", .integer("amount", default: 1))
  /// ```
  ///
  /// It is a register: of two concurrent increments one is lost, and shows in the conflict journal. Declare what
  /// devices add to as a `counter`.
  ///
  /// With `keep: .greatest` the column keeps the greatest number that any device has written, such as a best score or a
  /// read position; with `.least` the least, such as a best time. A lesser one that SQL writes, perhaps as part of a
  /// struct that was read before a merge, is put back when the transaction ends. To begin again, use ``KeptField``.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - value: the value of records that have none; nil for null. It is part of the schema and cannot change.
  ///   - extremum: which of all values stays; nil for the one that was written last. It cannot change.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  /// - Returns: the column, for a schema.
  public static func integer(
    _ name: String, default value: Int64? = nil, keep extremum: Extremum? = nil, renamedFrom oldName: String? = nil
  ) -> Self {
    .field(
      FieldSchema(
        name, .integer, default: value.map(Value.integer) ?? .null, wireName: oldName, keep: extremum))
  }
  /// A column of numbers to which devices add, NOT NULL: concurrent additions all count.
  ///
  /// ```swift
  /// let game = EntitySchema("Game", .text("name"), .counter("score"))
  /// ```
  ///
  /// Add with ``Counter``: `try Game.score.add(1, to: chess, in: db)`. Every other change of the column is an addition
  /// too, of the difference between the row before and after the transaction: `UPDATE Game SET score = score + 1` does
  /// the same. So of `UPDATE Game SET score = 0` on two devices at once the second takes away once more, and a record
  /// that was read before a merge and is saved whole takes back what came with the merge; use `Counter.set` and
  /// GRDB's `updateChanges`.
  ///
  /// The number shows within 64 bits; what was added beyond is remembered. What each device has added stays with a
  /// record after it was deleted and purged, in some ten bytes for each device.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - value: the number that a record begins with. It is part of the schema and cannot change.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  /// - Returns: the column, for a schema.
  public static func counter(_ name: String, default value: Int64 = 0, renamedFrom oldName: String? = nil) -> Self {
    .field(FieldSchema(name, .counter, default: .integer(value), wireName: oldName))
  }
  /// A column of doubles, NOT NULL if it has a default.
  ///
  /// NaN is null, as everywhere in SQLite. Money belongs in an integer of the smallest unit, or in a text.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - value: the value of records that have none; nil for null.
  ///   - extremum: which of all values stays, as of an `integer`; nil for the one that was written last.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  /// - Returns: the column, for a schema.
  public static func real(
    _ name: String, default value: Double? = nil, keep extremum: Extremum? = nil, renamedFrom oldName: String? = nil
  ) -> Self {
    .field(
      FieldSchema(name, .real, default: value.map(Value.init(real:)) ?? .null, wireName: oldName, keep: extremum))
  }
  /// A column of true and false, stored as 1 and 0; NOT NULL if it has a default.
  ///
  /// Any other number is refused; one that another program writes stays on its device.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - value: the value of records that have none; nil for null.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  /// - Returns: the column, for a schema.
  public static func bool(_ name: String, default value: Bool? = nil, renamedFrom oldName: String? = nil) -> Self {
    .field(FieldSchema(name, .bool, default: value.map { .integer($0 ? 1 : 0) } ?? .null, wireName: oldName))
  }
  /// A column of bytes. It can be null, and has no default.
  ///
  /// Anything larger than a thumbnail belongs in a file: a blob is sent as a whole whenever it changes.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  /// - Returns: the column, for a schema.
  public static func blob(_ name: String, renamedFrom oldName: String? = nil) -> Self {
    .field(FieldSchema(name, .blob, wireName: oldName))
  }
  /// A column of dates as GRDB writes them: text in UTC, to the millisecond. It can be null, and has no default.
  ///
  /// ```swift
  /// let item = EntitySchema("Item", .date("due"))
  /// ```
  ///
  /// In Swift it is a `Date?`. Text of any other form is refused with `StoreError.typeMismatch`, so that no device
  /// receives a date that it cannot read; SQL compares and sorts the text as it stands.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  /// - Returns: the column, for a schema.
  public static func date(_ name: String, renamedFrom oldName: String? = nil) -> Self {
    .field(FieldSchema(name, .date, wireName: oldName))
  }
  /// A column of UUIDs as GRDB writes them: sixteen bytes. It can be null, and has no default.
  ///
  /// For identifiers that other systems gave. To refer to another record, declare a reference.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  /// - Returns: the column, for a schema.
  public static func uuid(_ name: String, renamedFrom oldName: String? = nil) -> Self {
    .field(FieldSchema(name, .uuid, wireName: oldName))
  }
  /// A column that holds a `Codable` value as JSON. It can be null, and has no default.
  ///
  /// ```swift
  /// let game = EntitySchema("Game", .json("rules"))
  /// ```
  ///
  /// It merges as a whole: of two concurrent edits of parts of it one is lost, and shows in the conflict journal. Use
  /// an entity, or more columns, for parts that people edit apart from each other. Text that is not JSON is refused
  /// with `StoreError.typeMismatch`.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  /// - Returns: the column, for a schema.
  public static func json(_ name: String, renamedFrom oldName: String? = nil) -> Self {
    .field(FieldSchema(name, .json, wireName: oldName))
  }
  /// A column with the place of a record in the list of the record that it refers to: an order that people give.
  ///
  /// ```swift
  /// let chapter = EntitySchema(
  ///   "Chapter", .reference("book", to: "Book", onDelete: .cascade), .position("rank", within: "book"))
  /// ```
  ///
  /// In Swift it is a `ListPosition?`. ``OrderedChildren`` makes, moves and reads positions; in SQL `ORDER BY rank, id`
  /// gives the order, and `tally_between(left, right)` makes a position. It merges as any field does, and a move is an
  /// edit of the record that moves. Records without a position come first. A blob of no bytes, or of more than 512, is
  /// refused with `StoreError.typeMismatch`.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - reference: the reference of the same entity that says whose list it is.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  /// - Returns: the column, for a schema.
  public static func position(_ name: String, within reference: String, renamedFrom oldName: String? = nil) -> Self {
    .field(FieldSchema(name, .position, wireName: oldName, within: reference))
  }
  /// A column with the name of one other record. Declare one side of a relation; the other is a query.
  ///
  /// ```swift
  /// let item = EntitySchema("Item", .reference("list", to: "ShoppingList", onDelete: .cascade))
  /// ```
  ///
  /// It is always nullable: the record may be deleted, or may not have arrived yet. It merges as a field does. A
  /// reference cannot be renamed, and cannot name another type later. Writing the name of a record that is not there
  /// fails the transaction with `StoreError.danglingReference`.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - type: the type of the record that it names.
  ///   - onDelete: what becomes of this record when that one is deleted: `.nullify` shows null while it is gone,
  ///     `.cascade` makes it the owner, with which this record goes and comes back, and `.deny` refuses the delete, on
  ///     the device that tries it.
  ///   - isIndexed: whether the column has an index. Without one, deleting what it names reads the whole table.
  /// - Returns: the column, for a schema.
  public static func reference(
    _ name: String, to type: String, onDelete: DeleteRule = .nullify, isIndexed: Bool = true
  ) -> Self {
    .reference(ReferenceSchema(name, to: type, onDelete: onDelete, isIndexed: isIndexed))
  }
  /// A set of other records, in a join table `Type_name`, and no column.
  ///
  /// ```swift
  /// let game = EntitySchema("Game", .toMany("players", to: "Person"))
  /// ```
  ///
  /// Concurrent adds all stay, and an add that the remover had not seen stays too. ``Relationship`` reads and writes
  /// it.
  /// - Parameters:
  ///   - name: the relationship's name, which cannot change.
  ///   - type: the type of its members, which may be this one.
  ///   - ordered: whether people give the members an order, with ``Relationship/insert(_:_:to:at:)`` and
  ///     ``Relationship/move(_:_:of:to:)``. A relationship may become ordered later.
  /// - Returns: the relationship, for a schema.
  public static func toMany(_ name: String, to type: String, ordered: Bool = false) -> Self {
    .relationship(RelationshipSchema(name, to: type, ordered: ordered))
  }
}
