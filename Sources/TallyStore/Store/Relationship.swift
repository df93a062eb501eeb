import GRDB
import TallyCRDT

/// A to-many relationship of an entity, read and written as a set.
///
/// ```swift
/// extension Game { static let players = Relationship<Game, Person>("players") }
/// ```
/// ```swift
/// try Game.players.insert(db, ann, to: chess)
/// let names = try Game.players.members(db, of: chess)
/// ```
///
/// It is an observed-remove set: a member that one device adds while another removes it stays. If two devices add the
/// same member at the same time, it is a member once.
///
/// With `.toMany("players", to: "Person", ordered: true)` people can also arrange its members: ``insert(_:_:to:at:)``,
/// ``move(_:_:of:to:)``, ``setOrder(_:_:of:)`` and ``ordered(_:of:)``. If two devices move a member at the same time,
/// it remains a single member.
///
/// The rows are in the join table `Type_relationship` with the columns `source` and `target`, which raw SQL and GRDB
/// associations may use too: see ``association`` and ``inverse``. A deleted record is not a member until it is
/// restored.
///
/// All calls take the database of a ``Store/read(_:)`` or ``Store/write(_:)`` and run on its thread.
public struct Relationship<Source: Entity, Target: Entity>: Sendable {
  /// The relationship's name in the schema.
  public let name: String

  /// Creates the relationship of this name in `Source`'s schema, for a constant of the entity.
  ///
  /// ```swift
  /// let players = Relationship<Game, Person>("players")
  /// ```
  ///
  /// Nothing is read or written; the value is a name and two types.
  /// - Precondition: the schema has the relationship, with members of the type `Target`.
  public init(_ name: String) {
    let isDeclared = Source.schema.relationships.contains { $0.name == name && $0.to == Target.schema.type }
    precondition(isDeclared, "\(Source.schema.type) has no relationship \(name) to \(Target.schema.type)")
    self.name = name
  }

  /// The name of the join table, for SQL and for GRDB's associations.
  public var table: String { Schema.joinTable(Source.schema.type, name) }

  /// Returns the members of one record.
  ///
  /// ```swift
  /// let players = try Person.filter(keys: Game.players.members(db, of: chess)).fetchAll(db)
  /// ```
  ///
  /// Cost: one search in the join table's index, and the names in memory. For a list of many records with their
  /// members, ``association`` needs one query for all.
  /// - Returns: the names of the visible members; none if the record has none or does not exist.
  /// - Throws: GRDB's `DatabaseError`.
  public func members(_ db: Database, of source: RecordName<Source>) throws -> Set<RecordName<Target>> {
    try RecordName<Target>.fetchSet(
      db, sql: "SELECT target FROM \"\(table)\" WHERE source = ?", arguments: [source])
  }

  /// Returns the records that have `target` as a member: the inverse of ``members(_:of:)``, which needs no declaration.
  ///
  /// ```swift
  /// let games = try Game.filter(keys: Game.players.sources(db, of: ann)).fetchAll(db)
  /// ```
  ///
  /// Cost: one search in the join table's index, and the names in memory. In requests, ``inverse`` does the same.
  /// - Returns: the names of the visible records; none if there are none.
  /// - Throws: GRDB's `DatabaseError`.
  public func sources(_ db: Database, of target: RecordName<Target>) throws -> Set<RecordName<Source>> {
    try RecordName<Source>.fetchSet(
      db, sql: "SELECT source FROM \"\(table)\" WHERE target = ?", arguments: [target])
  }

  /// Adds a member; does nothing if it is already a member.
  ///
  /// ```swift
  /// try store.write { db in try Game.players.insert(db, ann, to: chess) }
  /// ```
  ///
  /// Both records must exist at the end of the transaction, which may also insert them. An add that the remover has not
  /// seen stays. Cost: one row.
  /// - Throws: `StoreError.danglingReference` or GRDB's `DatabaseError` at the latest when the transaction commits, if
  ///   either record is missing. GRDB's `DatabaseError` if a constraint of the app, such as a unique index on `target`,
  ///   refuses the row; `StoreError.writeIgnored` if a trigger or conflict clause ignores it. Then nothing has changed.
  public func insert(_ db: Database, _ target: RecordName<Target>, to source: RecordName<Source>) throws {
    try db.execute(sql: Schema.insertMember(table), arguments: [source, target])
    guard try db.changesCount > 0 || isMember(db, target, of: source) else {
      throw StoreError.ignored("adding \(target) to \(table) of \(source)")
    }
  }

  /// Adds a member at a place of an ordered relationship; an existing member moves there.
  ///
  /// ```swift
  /// try store.write { db in try Game.players.insert(db, ann, to: chess, at: .first) }
  /// ```
  ///
  /// ``insert(_:_:to:)``, and SQL without a position, add at the end. Cost: reads the list; at either end without
  /// loading it.
  /// - Throws: the errors of ``insert(_:_:to:)``; `StoreError.noSuchRecord` if the place names a record that is not a
  ///   member; `.positionTooDeep`, which ``setOrder(_:_:of:)`` resolves; `.invalidSchema` if the relationship is not
  ///   ordered. Then nothing has changed, except that members without a position may have received one.
  public func insert(
    _ db: Database, _ target: RecordName<Target>, to source: RecordName<Source>, at place: ListPlace<RecordName<Target>>
  ) throws {
    let rows = OrderedRows(db, try list, of: source.name.text)
    try rows.put(target.name.text, at: place.map(\.name.text))
  }

  /// Moves a member of an ordered relationship.
  ///
  /// ```swift
  /// try store.write { db in try Game.players.move(db, ann, of: chess, to: .last) }
  /// ```
  ///
  /// A move is not an edit of either record: it brings back no deleted record, and a member that another device removes
  /// stays removed. Of two concurrent moves of one member the later one wins. Cost: reads the list; writes one row.
  /// - Throws: the errors of ``insert(_:_:to:at:)``; `StoreError.noSuchRecord` if the record is not a member.
  public func move(
    _ db: Database, _ target: RecordName<Target>, of source: RecordName<Source>, to place: ListPlace<RecordName<Target>>
  ) throws {
    let rows = OrderedRows(db, try list, of: source.name.text)
    guard try isMember(db, target, of: source) else {
      throw StoreError(.noSuchRecord, "\(target) is no member of \(table) of \(source)")
    }
    try rows.put(target.name.text, at: place.map(\.name.text))
  }

  /// Puts the members of an ordered relationship into the given order.
  ///
  /// ```swift
  /// try store.write { db in try Game.players.setOrder(db, [ann], of: chess) }
  /// ```
  ///
  /// As few members as possible move. Names of records that are not members are ignored, and members that are not given
  /// keep their places. If there is no room for a position, all members get new ones. Cost: reads the list.
  /// - Throws: `StoreError.invalidSchema` if the relationship is not ordered; `.writeIgnored`; GRDB's `DatabaseError`.
  public func setOrder(_ db: Database, _ targets: [RecordName<Target>], of source: RecordName<Source>) throws {
    try OrderedRows(db, try list, of: source.name.text).setOrder(targets.map(\.name.text))
  }

  /// Returns the members of one record in their order, or by name if the relationship is not ordered.
  ///
  /// ```swift
  /// let players = try Game.players.ordered(db, of: chess)
  /// ```
  ///
  /// Members without a position, such as those from before the relationship was ordered, come first. Members that this
  /// transaction has inserted with SQL and without a position get their place when the transaction ends. Cost: one
  /// search in the join table's index, a sort, and the names in memory.
  /// - Returns: the names of the visible members; none if the record has none or does not exist.
  /// - Throws: GRDB's `DatabaseError`.
  public func ordered(_ db: Database, of source: RecordName<Source>) throws -> [RecordName<Target>] {
    let sql = OrderedList(Source.schema, relationship: name).map(OrderedRows.names)
    let plain = "SELECT target FROM \"\(table)\" WHERE source = ? ORDER BY target"
    return try RecordName<Target>.fetchAll(try db.cachedStatement(sql: sql ?? plain), arguments: [source])
  }

  private var list: OrderedList {
    get throws(StoreError) {
      guard let list = OrderedList(Source.schema, relationship: name) else { throw .notOrdered(table) }
      return list
    }
  }

  private func isMember(_ db: Database, _ target: RecordName<Target>, of source: RecordName<Source>) throws -> Bool {
    let sql = "SELECT EXISTS(SELECT 1 FROM \"\(table)\" WHERE source = ? AND target = ?)"
    return try Bool.fetchOne(db, sql: sql, arguments: [source, target]) ?? false
  }

  /// Removes a member; does nothing if it is not a member. The record itself stays.
  ///
  /// ```swift
  /// try store.write { db in try Game.players.remove(db, ann, from: chess) }
  /// ```
  ///
  /// The removal affects the adds that this device has seen. An unseen add stays, so the member may be back after the
  /// next sync.
  /// - Throws: GRDB's `DatabaseError`; `StoreError.writeIgnored` if a trigger of the app ignores it.
  public func remove(_ db: Database, _ target: RecordName<Target>, from source: RecordName<Source>) throws {
    try db.execute(sql: "DELETE FROM \"\(table)\" WHERE source = ? AND target = ?", arguments: [source, target])
    guard try db.changesCount > 0 || !isMember(db, target, of: source) else {
      throw StoreError.ignored("removing \(target) from \(table) of \(source)")
    }
  }

  /// Adds and removes members so that exactly these remain.
  ///
  /// ```swift
  /// try store.write { db in try Game.players.set(db, [ann], of: chess) }
  /// ```
  ///
  /// Only the difference is written: members that stay are not touched, so concurrent changes to them are not
  /// overwritten. Two devices that set different members end with everything that either has added, without what either
  /// has removed.
  /// - Throws: the errors of ``insert(_:_:to:)``.
  public func set(_ db: Database, _ targets: Set<RecordName<Target>>, of source: RecordName<Source>) throws {
    let current = try members(db, of: source)
    for target in current.subtracting(targets) { try remove(db, target, from: source) }
    for target in targets.subtracting(current) { try insert(db, target, to: source) }
  }
}
