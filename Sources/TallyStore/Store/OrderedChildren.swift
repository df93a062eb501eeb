import GRDB
import TallyCRDT

/// The records that refer to one record, in an order that people give them: a column of positions, and the reference
/// that it is declared within.
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
/// A record that moves gets another position and stays what it is, so two devices that move one record leave it once,
/// at the place that the later move gave it. What two devices insert at one place at the same time stays together: all
/// of one, then all of the other. A move is an edit of the record, and like any edit it undoes a concurrent delete.
///
/// In SQL the order is `ORDER BY rank, id`. Records without a position, as those from before the column, come first.
///
/// All calls take the database of a ``Store/read(_:)`` or ``Store/write(_:)`` of the store.
public struct OrderedChildren<Child: Entity, Owner: Entity>: Sendable {
  /// The name of the column of positions.
  public let name: String
  private let list: OrderedList

  /// The list that this column of `Child`'s schema makes, for a constant of the entity.
  ///
  /// Nothing is read or written; the value is a name and two types.
  /// - Precondition: the schema has the column, as a position within a reference to `Owner`.
  public init(_ name: String) {
    guard let list = OrderedList(Child.schema, position: name), list.owner == Owner.schema.type else {
      preconditionFailure("\(Child.schema.type) has no position \(name) within a reference to \(Owner.schema.type)")
    }
    (self.name, self.list) = (name, list)
  }

  /// The records of one list, in order.
  ///
  /// ```swift
  /// let chapters = try Chapter.inBook.ordered(db, of: novel)
  /// ```
  ///
  /// Cost: one look into the reference's index, a sort, and the names in memory. In requests,
  /// `order(Column("rank"), Column("id"))` does the same.
  /// - Returns: the names of the records that are visible; none if there are none.
  /// - Throws: GRDB's `DatabaseError`.
  public func ordered(_ db: Database, of owner: RecordName<Owner>) throws -> [RecordName<Child>] {
    try RecordName<Child>.fetchAll(try db.cachedStatement(sql: OrderedRows.names(list)), arguments: [owner])
  }

  /// Makes a position for a record that is about to be inserted.
  ///
  /// ```swift
  /// let rank = try Chapter.inBook.position(db, at: .first, of: novel)
  /// ```
  ///
  /// Positions that are made one behind the other, each of what was inserted before, are of one run: nothing that
  /// another device inserts meanwhile comes between them. If there are records without a position, they get one first.
  /// Cost: reads the list; at either end without taking it into memory.
  /// - Returns: a position that no other record has.
  /// - Throws: `StoreError.noSuchRecord` if the place names a record that is not in the list; `.positionTooDeep`, which
  ///   ``setOrder(_:_:of:)`` puts right; GRDB's `DatabaseError`, also if `db` is no store's.
  public func position(
    _ db: Database, at place: ListPlace<RecordName<Child>>, of owner: RecordName<Owner>
  ) throws -> ListPosition {
    try OrderedRows(db, list, of: owner.name.text).position(at: place.map(\.name.text), for: nil)
  }

  /// Moves a record to a place in a list, which may be another one than it is in.
  ///
  /// ```swift
  /// try store.write { db in try Chapter.inBook.move(db, intro, to: .after(ending), of: novel) }
  /// ```
  ///
  /// One column is written, and the reference if the list is another. Of two concurrent moves of one record the later
  /// stays, and the other is in the conflict journal.
  /// - Throws: as ``position(_:at:of:)``; `StoreError.noSuchRecord` if the record is not there; `.writeIgnored` if a
  ///   trigger of the app's ignores the move. Nothing has changed then but positions of those that had none.
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

  /// Gives a list an order.
  ///
  /// ```swift
  /// try store.write { db in try Chapter.inBook.setOrder(db, [ending, intro], of: novel) }
  /// ```
  ///
  /// As few records move as possible; those that stay are not written, so what another device does with them at the
  /// same time holds. Records that are not in the list, as those that another device has removed, are passed over.
  /// Those that are in it and are not given keep their positions. Where there is no room for a position, all get new
  /// ones. Cost: reads the list.
  /// - Throws: `StoreError.writeIgnored` if a trigger of the app's ignores a move; GRDB's `DatabaseError`.
  public func setOrder(_ db: Database, _ children: [RecordName<Child>], of owner: RecordName<Owner>) throws {
    try OrderedRows(db, list, of: owner.name.text).setOrder(children.map(\.name.text))
  }
}
