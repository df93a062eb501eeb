import GRDB
import TallyCRDT

/// The records that refer to one record, in an order that people decide: a column of positions and its reference.
///
/// ```swift
/// struct Chapter: Entity, Codable, FetchableRecord, PersistableRecord {
///   static let schema = EntitySchema(
///     "Chapter", .text("title"), .reference("book", to: "Book", onDelete: .cascade),
///     .position("rank", within: "book"))
///   static let inBook = OrderedChildren<Chapter, Book>("rank")
///   var id = RecordName<Chapter>()
///   var title: String?
///   var book: RecordName<Book>?
///   var rank: ListPosition?
/// }
/// ```
/// ```swift
/// try store.write { db in
///   let rank = try Chapter.inBook.position(db, at: .last, of: novel)
///   try Chapter(title: "The end", book: novel, rank: rank).insert(db)
/// }
/// ```
///
/// A move only changes the position of a record. If two devices move one record, it therefore still occurs once, at the
/// place of the later move. Records that two devices concurrently insert at one place stay together: first all of one
/// device, then all of the other. A move is an edit of the record, and like any edit it undoes a concurrent delete.
///
/// In SQL the order is `ORDER BY rank, id`. Records without a position, such as those older than the column, come
/// first.
///
/// All calls take the database of a ``Store/read(_:)`` or ``Store/write(_:)``.
public struct OrderedChildren<Child: Entity, Owner: Entity>: Sendable {
  /// The name of the column of positions.
  public let name: String
  private let list: OrderedList

  /// Creates the list for a column of `Child`'s schema, for a constant of the entity.
  ///
  /// Nothing is read or written; the value is a name and two types.
  /// - Precondition: the schema has the column, as a position within a reference to `Owner`.
  public init(_ name: String) {
    guard let list = OrderedList(Child.schema, position: name), list.owner == Owner.schema.type else {
      preconditionFailure("\(Child.schema.type) has no position \(name) within a reference to \(Owner.schema.type)")
    }
    (self.name, self.list) = (name, list)
  }

  /// Returns the records of one list, in order.
  ///
  /// ```swift
  /// let chapters = try Chapter.inBook.ordered(db, of: novel)
  /// ```
  ///
  /// Cost: one search in the reference's index, a sort, and the names in memory. In requests,
  /// `order(Column("rank"), Column("id"))` does the same.
  /// - Returns: the names of the visible records; none if there are none.
  /// - Throws: GRDB's `DatabaseError`.
  public func ordered(_ db: Database, of owner: RecordName<Owner>) throws -> [RecordName<Child>] {
    try RecordName<Child>.fetchAll(try db.cachedStatement(sql: OrderedRows.names(list)), arguments: [owner])
  }

  /// Creates a position for a record that is about to be inserted.
  ///
  /// ```swift
  /// let rank = try Chapter.inBook.position(db, at: .first, of: novel)
  /// ```
  ///
  /// Positions that are created one after another, each after the record inserted before, form one run: nothing that
  /// another device inserts meanwhile comes between them. Records without a position get one first. Cost: reads the
  /// list; at either end, without loading it into memory.
  /// - Returns: a position that no other record has.
  /// - Throws: `StoreError.noSuchRecord` if the place names a record that is not in the list; `.positionTooDeep`, which
  ///   ``setOrder(_:_:of:)`` resolves; GRDB's `DatabaseError`, also if `db` does not belong to a store.
  public func position(
    _ db: Database, at place: ListPlace<RecordName<Child>>, of owner: RecordName<Owner>
  ) throws -> ListPosition {
    try OrderedRows(db, list, of: owner.name.text).position(at: place.map(\.name.text), for: nil)
  }

  /// Moves a record to a place in a list, which may be another list than its current one.
  ///
  /// ```swift
  /// try store.write { db in try Chapter.inBook.move(db, intro, to: .after(ending), of: novel) }
  /// ```
  ///
  /// It writes one column, and the reference if the list is another one. Of two concurrent moves of one record the
  /// later one wins, and the other is in the conflict journal.
  /// - Throws: the errors of ``position(_:at:of:)``; `StoreError.noSuchRecord` if the record does not exist;
  ///   `.writeIgnored` if a trigger of the app ignores the move. Then nothing has changed, except that records without
  ///   a position may have received one.
  public func move(
    _ db: Database, _ child: RecordName<Child>, to place: ListPlace<RecordName<Child>>, of owner: RecordName<Owner>
  ) throws {
    let position = try OrderedRows(db, list, of: owner.name.text).position(
      at: place.map(\.name.text), for: child.name.text)
    try db.execute(
      sql: "UPDATE \"\(list.table)\" SET \"\(list.source)\" = ?, \"\(list.position)\" = ? WHERE id = ?",
      arguments: [owner, position, child])
    guard db.changesCount == 0 else { return }
    guard try Bool.fetchOne(db, sql: "SELECT 1 FROM \"\(list.table)\" WHERE id = ?", arguments: [child]) == true else {
      throw StoreError(.noSuchRecord, "no record named \(child)")
    }
    throw StoreError.ignored("the move of \(child)")
  }

  /// Puts the records of a list into the given order.
  ///
  /// ```swift
  /// try store.write { db in try Chapter.inBook.setOrder(db, [ending, intro], of: novel) }
  /// ```
  ///
  /// As few records as possible move; the others are not written, so concurrent moves of them on other devices survive.
  /// Names of records that are not in the list, for instance because another device has removed them, are ignored.
  /// Records of the list that are not given keep their positions. If there is no room for a position, all records get
  /// new ones. Cost: reads the list.
  /// - Throws: `StoreError.writeIgnored` if a trigger of the app ignores a move; GRDB's `DatabaseError`.
  public func setOrder(_ db: Database, _ children: [RecordName<Child>], of owner: RecordName<Owner>) throws {
    try OrderedRows(db, list, of: owner.name.text).setOrder(children.map(\.name.text))
  }
}
