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
/// It is an observed-remove set: what one device added while another removed it stays. Two devices that add one member
/// at the same time add it once.
///
/// With `.toMany("players", to: "Person", ordered: true)` its members also have an order that people give them:
/// ``insert(_:_:to:at:)``, ``move(_:_:of:to:)``, ``setOrder(_:_:of:)`` and ``ordered(_:of:)``. A member that moves
/// stays one member, wherever two devices move it at the same time.
///
/// The rows are in the join table `Type_relationship` with the columns `source` and `target`, which raw SQL and GRDB
/// associations may use just as well: see ``association`` and ``inverse``. A member that is deleted is no member any
/// more, and is one again when it is restored.
///
/// All calls take the database of a ``Store/read(_:)`` or ``Store/write(_:)``, and run where that runs.
public struct Relationship<Source: Entity, Target: Entity>: Sendable {
  /// The name in the schema.
  public let name: String

  /// The relationship of this name in `Source`'s schema, for a constant of the entity.
  ///
  /// ```swift
  /// let players = Relationship<Game, Person>("players")
  /// ```
  ///
  /// Nothing is read or written; the value is a name and two types.
  /// - Precondition: the schema has it, with members of the type `Target`.
  public init(_ name: String) {
    let isDeclared = Source.schema.relationships.contains { $0.name == name && $0.to == Target.schema.type }
    precondition(isDeclared, "\(Source.schema.type) has no relationship \(name) to \(Target.schema.type)")
    self.name = name
  }

  /// The name of the join table, for SQL and for GRDB's associations.
  public var table: String { Schema.joinTable(Source.schema.type, name) }

  /// The members of one record.
  ///
  /// ```swift
  /// let players = try Person.filter(keys: Game.players.members(db, of: chess)).fetchAll(db)
  /// ```
  ///
  /// Cost: one look into the join table's index, and the names in memory. For a list of many records with their
  /// members, ``association`` needs one query for all.
  /// - Returns: the names of the members that are visible; none if the record has none, or is not there.
  /// - Throws: GRDB's `DatabaseError`.
  public func members(_ db: Database, of source: RecordName<Source>) throws -> Set<RecordName<Target>> {
    try RecordName<Target>.fetchSet(
      db, sql: "SELECT target FROM \"\(table)\" WHERE source = ?", arguments: [source])
  }

  /// The records that have `target` as a member: the inverse of ``members(_:of:)``, which needs no declaration.
  ///
  /// ```swift
  /// let games = try Game.filter(keys: Game.players.sources(db, of: ann)).fetchAll(db)
  /// ```
  ///
  /// Cost: one look into the join table's index, and the names in memory. In requests, ``inverse`` does the same.
  /// - Returns: the names of the records that are visible; none if there are none.
  /// - Throws: GRDB's `DatabaseError`.
  public func sources(_ db: Database, of target: RecordName<Target>) throws -> Set<RecordName<Source>> {
    try RecordName<Source>.fetchSet(
      db, sql: "SELECT source FROM \"\(table)\" WHERE target = ?", arguments: [target])
  }

  /// Adds a member; nothing happens if it is one.
  ///
  /// ```swift
  /// try store.write { db in try Game.players.insert(db, ann, to: chess) }
  /// ```
  ///
  /// Both records must be there at the end of the transaction, in which they may also be inserted. An add that the
  /// remover has not seen stays. Cost: one row.
  /// - Throws: `StoreError.danglingReference` or GRDB's `DatabaseError` at the latest when the transaction commits, if
  ///   either record is missing. GRDB's `DatabaseError` if a constraint of the app's own refuses the row, as a unique
  ///   index on `target` does; `StoreError.writeIgnored` if a trigger or conflict clause of the app's ignores it.
  ///   Nothing has changed then.
  public func insert(_ db: Database, _ target: RecordName<Target>, to source: RecordName<Source>) throws {
    try db.execute(sql: Schema.insertMember(table), arguments: [source, target])
    guard try db.changesCount > 0 || isMember(db, target, of: source) else {
      throw StoreError.ignored("adding \(target) to \(table) of \(source)")
    }
  }

  /// Adds a member at a place of an ordered relationship; one that is a member moves there.
  ///
  /// ```swift
  /// try store.write { db in try Game.players.insert(db, ann, to: chess, at: .first) }
  /// ```
  ///
  /// ``insert(_:_:to:)``, and SQL that says nothing of a position, add behind all others. Cost: reads the list; at
  /// either end without taking it into memory.
  /// - Throws: as ``insert(_:_:to:)``; `StoreError.noSuchRecord` if the place names what is no member;
  ///   `.positionTooDeep`, which ``setOrder(_:_:of:)`` puts right; `.invalidSchema` if the relationship is not ordered.
  ///   Nothing has changed then but positions of members that had none.
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
  /// A move is no edit of either record: it brings none back, and a member that another device removes stays removed.
  /// Of two concurrent moves of one member the later stays. Cost: reads the list; writes one row.
  /// - Throws: as ``insert(_:_:to:at:)``; `StoreError.noSuchRecord` if the record is no member.
  public func move(
    _ db: Database, _ target: RecordName<Target>, of source: RecordName<Source>, to place: ListPlace<RecordName<Target>>
  ) throws {
    let rows = OrderedRows(db, try list, of: source.name.text)
    guard try isMember(db, target, of: source) else {
      throw StoreError(.noSuchRecord, "\(target) is no member of \(table) of \(source)")
    }
    try rows.put(target.name.text, at: place.map(\.name.text))
  }

  /// Gives the members of an ordered relationship an order.
  ///
  /// ```swift
  /// try store.write { db in try Game.players.setOrder(db, [ann], of: chess) }
  /// ```
  ///
  /// As few members move as possible. Names that are no members are passed over, and members that are not given keep
  /// their places. Where there is no room for a position, all get new ones. Cost: reads the list.
  /// - Throws: `StoreError.invalidSchema` if the relationship is not ordered; `.writeIgnored`; GRDB's `DatabaseError`.
  public func setOrder(_ db: Database, _ targets: [RecordName<Target>], of source: RecordName<Source>) throws {
    try OrderedRows(db, try list, of: source.name.text).setOrder(targets.map(\.name.text))
  }

  /// The members of one record in their order; by name if the relationship is not ordered.
  ///
  /// ```swift
  /// let players = try Game.players.ordered(db, of: chess)
  /// ```
  ///
  /// Members without a position, as those from before the relationship was ordered, come first. What this transaction
  /// has inserted by SQL without a position has its place when the transaction ends. Cost: one look into the join
  /// table's index, a sort, and the names in memory.
  /// - Returns: the names of the members that are visible; none if the record has none, or is not there.
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

  /// Removes a member; nothing happens if it is not one. The record itself stays.
  ///
  /// ```swift
  /// try store.write { db in try Game.players.remove(db, ann, from: chess) }
  /// ```
  ///
  /// The removal goes for the adds that this device has seen. One that it has not seen stays, so the member may be
  /// there again after the next sync.
  /// - Throws: GRDB's `DatabaseError`; `StoreError.writeIgnored` if a trigger of the app's ignores it.
  public func remove(_ db: Database, _ target: RecordName<Target>, from source: RecordName<Source>) throws {
    try db.execute(sql: "DELETE FROM \"\(table)\" WHERE source = ? AND target = ?", arguments: [source, target])
    guard try db.changesCount > 0 || !isMember(db, target, of: source) else {
      throw StoreError.ignored("removing \(target) from \(table) of \(source)")
    }
  }

  /// Adds and removes so that exactly these are members.
  ///
  /// ```swift
  /// try store.write { db in try Game.players.set(db, [ann], of: chess) }
  /// ```
  ///
  /// Only the difference is written: members that stay are not touched, so what another device does with them at the
  /// same time is not overwritten. Two devices that set different members end with all that either has added, without
  /// those that either has removed.
  /// - Throws: as ``insert(_:_:to:)``.
  public func set(_ db: Database, _ targets: Set<RecordName<Target>>, of source: RecordName<Source>) throws {
    let current = try members(db, of: source)
    for target in current.subtracting(targets) { try remove(db, target, from: source) }
    for target in targets.subtracting(current) { try insert(db, target, to: source) }
  }
}
