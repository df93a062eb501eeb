import TallyCRDT

extension EntitySchema.Property {
  /// Declares a column of texts in UTF-8, NOT NULL if it has a default.
  ///
  /// ```swift
  /// let note = EntitySchema("Note", .text("title", default: ""), .text("body", renamedFrom: "text"))
  /// ```
  ///
  /// A text merges as a whole. The default is part of the schema and cannot change.
  ///
  /// With a list of values, as in `.text("state", default: "open", oneOf: ["open", "done"])`, this app's write of any
  /// other value fails with `StoreError.typeMismatch`, unless the record already has it. What a newer version of the
  /// app writes arrives all the same: the column shows it, and it stays as it is. An enum that cannot have it is read
  /// as `unknown`, so the fetch goes on. GRDB's `update` then writes that back; `updateChanges` and `@Entity` do not.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - value: the value of records that have none; nil for null.
  ///   - values: all values that this version of the app knows; nil for any. A later version may list others.
  ///   - unknown: the listed value as which an enum reads any other one; the default unless given.
  ///   - oldName: the name under which the column was first declared, if it was renamed since. Keep it however often
  ///     the column is renamed, because other devices continue to use it.
  ///   - source: the older field whose place it takes; see ``FieldSource``.
  /// - Returns: the column, for a schema.
  public static func text(
    _ name: String, default value: String? = nil, oneOf values: [String]? = nil, unknown: String? = nil,
    renamedFrom oldName: String? = nil, from source: FieldSource? = nil
  ) -> Self {
    .field(
      FieldSchema(
        name, .text, default: Value(text: value), wireName: oldName, from: source, oneOf: values?.map(Value.text),
        unknown: unknown.map(Value.text)))
  }
  /// Declares a column of signed 64-bit integers, NOT NULL if it has a default.
  ///
  /// ```swift
  /// let item = EntitySchema("Item", .integer("amount", default: 1))
  /// ```
  ///
  /// It is a register: one of two concurrent increments is lost and appears in the conflict journal. Declare a number
  /// to which devices add as a `counter`.
  ///
  /// With `keep: .greatest` the column keeps the greatest number that any device has written, such as a best score or a
  /// read position; with `.least` it keeps the least, such as a best time. If SQL writes a lesser number, perhaps as
  /// part of a struct that was read before a merge, the kept one returns when the transaction ends. To begin again, use
  /// ``KeptField``.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - value: the value of records that have none; nil for null. It is part of the schema and cannot change.
  ///   - values: all values that this version of the app knows, as for a `text`; nil for any.
  ///   - unknown: the listed value as which an enum reads any other one; the default unless given.
  ///   - extremum: which of all values the column keeps; nil for the one that was written last. It cannot change.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  ///   - source: the older field whose place it takes; see ``FieldSource``.
  /// - Returns: the column, for a schema.
  public static func integer(
    _ name: String, default value: Int64? = nil, oneOf values: [Int64]? = nil, unknown: Int64? = nil,
    keep extremum: Extremum? = nil, renamedFrom oldName: String? = nil, from source: FieldSource? = nil
  ) -> Self {
    .field(
      FieldSchema(
        name, .integer, default: value.map(Value.integer) ?? .null, wireName: oldName, keep: extremum, from: source,
        oneOf: values?.map(Value.integer), unknown: unknown.map(Value.integer)))
  }
  /// Declares a column of numbers to which devices add, NOT NULL. Concurrent additions all count.
  ///
  /// ```swift
  /// let game = EntitySchema("Game", .text("name"), .counter("score"))
  /// ```
  ///
  /// Add with ``Counter``: `try Game.score.add(1, to: chess, in: db)`. Any other change of the column also adds the
  /// difference between the row before and after the transaction: `UPDATE Game SET score = score + 1` does the same.
  /// Therefore, if two devices run `UPDATE Game SET score = 0` at once, both subtract, and a record that was read
  /// before a merge and is then saved whole undoes what the merge added. Use `Counter.set` and GRDB's `updateChanges`.
  ///
  /// It takes the place of no other field: to count what was an integer, declare it beside that, and show the sum.
  ///
  /// The number that is shown stays within 64 bits; additions beyond that are remembered. Each device's total stays
  /// with a record after it was deleted and purged, and takes about ten bytes for each device.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - value: the number that a record begins with. It is part of the schema and cannot change.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  /// - Returns: the column, for a schema.
  public static func counter(_ name: String, default value: Int64 = 0, renamedFrom oldName: String? = nil) -> Self {
    .field(FieldSchema(name, .counter, default: .integer(value), wireName: oldName))
  }
  /// Declares a column of doubles, NOT NULL if it has a default.
  ///
  /// NaN becomes null, as everywhere in SQLite. Store money as an integer in the smallest unit, or as text.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - value: the value of records that have none; nil for null.
  ///   - extremum: which of all values the column keeps, as for an `integer`; nil for the one that was written last.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  ///   - source: the older field whose place it takes; see ``FieldSource``.
  /// - Returns: the column, for a schema.
  public static func real(
    _ name: String, default value: Double? = nil, keep extremum: Extremum? = nil, renamedFrom oldName: String? = nil,
    from source: FieldSource? = nil
  ) -> Self {
    .field(
      FieldSchema(
        name, .real, default: value.map(Value.init(real:)) ?? .null, wireName: oldName, keep: extremum, from: source))
  }
  /// Declares a column of Boolean values, stored as 1 and 0; NOT NULL if it has a default.
  ///
  /// Any other number is refused. If another program writes one, it stays on its device.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - value: the value of records that have none; nil for null.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  ///   - source: the older field whose place it takes; see ``FieldSource``.
  /// - Returns: the column, for a schema.
  public static func bool(
    _ name: String, default value: Bool? = nil, renamedFrom oldName: String? = nil, from source: FieldSource? = nil
  ) -> Self {
    .field(
      FieldSchema(
        name, .bool, default: value.map { .integer($0 ? 1 : 0) } ?? .null, wireName: oldName, from: source))
  }
  /// Declares a column of bytes. It can be null and has no default.
  ///
  /// Declare anything larger than a thumbnail as an `asset`: a blob is sent as a whole whenever it changes, and every
  /// query that reads the row reads it.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  /// - Returns: the column, for a schema.
  public static func blob(_ name: String, renamedFrom oldName: String? = nil) -> Self {
    .field(FieldSchema(name, .blob, wireName: oldName))
  }
  /// Declares a column of dates as GRDB writes them: UTC text, to the millisecond. It can be null and has no default.
  ///
  /// ```swift
  /// let item = EntitySchema("Item", .date("due"))
  /// ```
  ///
  /// In Swift it is a `Date?`. Text of any other form is refused with `StoreError.typeMismatch`, so no device receives
  /// a date that it cannot read. SQL compares and sorts the text as it is.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  /// - Returns: the column, for a schema.
  public static func date(_ name: String, renamedFrom oldName: String? = nil) -> Self {
    .field(FieldSchema(name, .date, wireName: oldName))
  }
  /// Declares a column of UUIDs as GRDB writes them: sixteen bytes. It can be null and has no default.
  ///
  /// Use it for identifiers that other systems assigned. To refer to another record, declare a reference.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  /// - Returns: the column, for a schema.
  public static func uuid(_ name: String, renamedFrom oldName: String? = nil) -> Self {
    .field(FieldSchema(name, .uuid, wireName: oldName))
  }
  /// Declares a column with the name of a file beside the store, such as a picture. It can be null and has no default.
  ///
  /// ```swift
  /// let person = EntitySchema("Person", .text("name"), .asset("photo"), .asset("avatar", download: .eager))
  /// ```
  ///
  /// In Swift it is an `AssetName?`. `store.assets` adds files, and finds the file of a name. The name merges like any
  /// other field, so of two pictures that were chosen concurrently the later one is shown. Any other text is refused
  /// with `StoreError.typeMismatch`.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - download: when a device gets the file: when the app asks for it, or with the next sync. It may change.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  /// - Returns: the column, for a schema.
  public static func asset(
    _ name: String, download: AssetDownload = .lazy, renamedFrom oldName: String? = nil
  ) -> Self {
    .field(FieldSchema(name, .asset, wireName: oldName, download: download))
  }
  /// Declares a column that holds a `Codable` value as JSON. It can be null and has no default.
  ///
  /// ```swift
  /// let game = EntitySchema("Game", .json("rules"))
  /// ```
  ///
  /// It merges as a whole: one of two concurrent edits of different parts is lost and appears in the conflict journal.
  /// Use an entity or more columns for parts that people edit separately. Text that is not JSON is refused with
  /// `StoreError.typeMismatch`.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  /// - Returns: the column, for a schema.
  public static func json(_ name: String, renamedFrom oldName: String? = nil) -> Self {
    .field(FieldSchema(name, .json, wireName: oldName))
  }
  /// Declares a column with the place of a record in the list of the record to which it refers. People decide the
  /// order.
  ///
  /// ```swift
  /// let chapter = EntitySchema(
  ///   "Chapter", .reference("book", to: "Book", onDelete: .cascade), .position("rank", within: "book"))
  /// ```
  ///
  /// In Swift it is a `ListPosition?`. ``OrderedChildren`` creates, moves and reads positions; in SQL,
  /// `ORDER BY rank, id` gives the order and `tally_between(left, right)` returns a position. It merges like any other
  /// field, and a move is an edit of the moved record. Records without a position come first. An empty blob, or one of
  /// more than 512 bytes, is refused with `StoreError.typeMismatch`.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - reference: the reference of the same entity that names the owner of the list.
  ///   - oldName: the name under which the column was first declared, if it was renamed since.
  /// - Returns: the column, for a schema.
  public static func position(_ name: String, within reference: String, renamedFrom oldName: String? = nil) -> Self {
    .field(FieldSchema(name, .position, wireName: oldName, within: reference))
  }
  /// Declares a column with the name of one other record. Declare one side of a relation; the other side is a query.
  ///
  /// ```swift
  /// let item = EntitySchema("Item", .reference("list", to: "ShoppingList", onDelete: .cascade))
  /// ```
  ///
  /// It is always nullable, because the other record may be deleted or may not have arrived yet. It merges like a
  /// field. A reference cannot be renamed, and its target type cannot change. Writing the name of a record that does
  /// not exist fails the transaction with `StoreError.danglingReference`.
  /// - Parameters:
  ///   - name: the column's name.
  ///   - type: the type of the record that it names.
  ///   - onDelete: what happens to this record when the target is deleted: `.nullify` shows null while the target is
  ///     gone; `.cascade` makes the target the owner, with which this record disappears and comes back; `.deny` refuses
  ///     the delete on the device that attempts it.
  ///   - isIndexed: whether the column has an index. Without one, deleting a target reads the whole table.
  /// - Returns: the column, for a schema.
  public static func reference(
    _ name: String, to type: String, onDelete: DeleteRule = .nullify, isIndexed: Bool = true
  ) -> Self {
    .reference(ReferenceSchema(name, to: type, onDelete: onDelete, isIndexed: isIndexed))
  }
  /// Declares a set of other records, in a join table `Type_name` and not in a column.
  ///
  /// ```swift
  /// let game = EntitySchema("Game", .toMany("players", to: "Person"))
  /// ```
  ///
  /// Concurrent adds all survive, as does an add that the remover had not seen. ``Relationship`` reads and writes it.
  /// - Parameters:
  ///   - name: the relationship's name, which cannot change.
  ///   - type: the type of its members, which may be the entity's own.
  ///   - ordered: whether people arrange the members, with ``Relationship/insert(_:_:to:at:)`` and
  ///     ``Relationship/move(_:_:of:to:)``. A relationship may become ordered later.
  /// - Returns: the relationship, for a schema.
  public static func toMany(_ name: String, to type: String, ordered: Bool = false) -> Self {
    .relationship(RelationshipSchema(name, to: type, ordered: ordered))
  }
}
