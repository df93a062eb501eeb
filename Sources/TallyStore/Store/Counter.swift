import GRDB
import Synchronization
import TallyCRDT

/// A counter of an entity: a number to which devices add, and of which every addition counts.
///
/// ```swift
/// extension Game { static let score = Counter<Game>("score") }
/// ```
/// ```swift
/// try store.write { db in try Game.score.add(1, to: chess, in: db) }
/// ```
///
/// The number is an ordinary column, for queries and for structs that are read. What is written to the column by SQL or
/// as part of a struct is an addition as well: that of the difference to what the row showed before the transaction. So
/// `UPDATE Game SET score = score + 1` does what ``add(_:to:in:)`` does, but to save a struct that was read before a
/// sync takes back what came with it. GRDB's `updateChanges` writes only what the app has changed.
///
/// Both calls take the database of a ``Store/write(_:)``, and run where that runs.
public struct Counter<Record: Entity>: Sendable {
  /// The name of the counter's column.
  public let name: String

  /// The counter of this name in the entity's schema, for a constant of the entity.
  ///
  /// ```swift
  /// let score = Counter<Game>("score")
  /// ```
  ///
  /// Nothing is read or written; the value is a name and a type.
  /// - Precondition: the schema has a counter of that name.
  public init(_ name: String) {
    let isDeclared = Record.schema.fields.contains { $0.name == name && $0.kind == .counter }
    precondition(isDeclared, "\(Record.schema.type) has no counter \(name)")
    self.name = name
  }

  /// Adds to the counter of one record. What other devices add meanwhile counts as well.
  ///
  /// ```swift
  /// try store.write { db in try Game.score.add(3, to: chess, in: db) }
  /// ```
  ///
  /// An addition is an edit: a record that another device has deleted without having seen it stays, unless deletes win.
  /// Cost: one row.
  /// - Parameters:
  ///   - amount: what to add; less than 0 to take away.
  ///   - id: the record.
  ///   - db: the database of a write.
  /// - Throws: `StoreError.noSuchRecord` if the record is not there, `.valueTooLarge` if the number would not fit into
  ///   64 bits, `.writeIgnored` if a trigger of the app's ignores the write; GRDB's `DatabaseError`. Nothing has
  ///   changed then.
  public func add(_ amount: Int64, to id: RecordName<Record>, in db: Database) throws {
    try Schema.add(db, id.name, Record.schema.type, name, amount)
  }

  /// Makes the counter of one record show a number. Of two devices that set at once the later counts; what either adds
  /// without having seen the set that counts is added to it.
  ///
  /// ```swift
  /// try store.write { db in try Game.score.set(0, of: chess, in: db) }
  /// ```
  ///
  /// `UPDATE Game SET score = 0` is something else: it takes away what the row shows, so that two devices which do it
  /// at once take it away twice.
  ///
  /// The number is written by a statement of the app's, for its triggers and checks. Changes that the transaction has
  /// made before are captured first, as if it ended there: references must hold by then. A `StoreError` ends the whole
  /// transaction, also if the app catches it; so does a savepoint that is rolled back after such a call within it.
  /// Cost: one row.
  /// - Throws: `StoreError.noSuchRecord` if the record is not there; `.valueTooLarge` if the number and what was added
  ///   are too far apart for 64 bits; `.writeIgnored` if a trigger of the app's ignores the write; `.notInWrite` if
  ///   `db` is not that of a store's write; GRDB's `DatabaseError` if a check or trigger refuses the number. Nothing
  ///   has changed then.
  public func set(_ number: Int64, of id: RecordName<Record>, in db: Database) throws {
    try ColumnSetting.set(name, of: id.name, to: .integer(number), in: db)
  }
}

extension Schema {
  /// Adds to a counter of a record, without a Swift type; see ``Counter/add(_:to:in:)``.
  ///
  /// ```swift
  /// try schema.add(db, AnyRecordName("Game|~|chess"), "score", 1)
  /// ```
  /// - Throws: `StoreError.unknownType`, `.unknownField`, `.typeMismatch` for a field that is no counter,
  ///   `.noSuchRecord`, `.valueTooLarge`, `.writeIgnored`; GRDB's `DatabaseError`. Nothing has changed then.
  public func add(_ db: Database, _ name: AnyRecordName, _ counter: String, _ amount: Int64) throws {
    guard try field(counter, of: name).kind == .counter else {
      throw StoreError(.typeMismatch, "\(name.type).\(counter) is no counter: write its value")
    }
    try Self.add(db, name, name.type, counter, amount)
  }

  /// Sets a counter of a record, or a field that keeps the greatest or the least value, without a Swift type; see
  /// ``Counter/set(_:of:in:)`` and ``KeptField/set(_:of:in:)``.
  ///
  /// ```swift
  /// try schema.set(db, AnyRecordName("Game|~|chess"), "score", to: 0)
  /// ```
  /// - Throws: `StoreError.unknownType`, `.unknownField`, `.typeMismatch` for any other field and for a value that does
  ///   not fit, `.noSuchRecord`, `.valueTooLarge`, `.writeIgnored`, `.notInWrite`; GRDB's `DatabaseError` if a check or
  ///   trigger refuses the value. Nothing has changed then.
  public func set(_ db: Database, _ name: AnyRecordName, _ field: String, to value: Value) throws {
    _ = try self.field(field, of: name)
    try ColumnSetting.set(field, of: name, to: value, in: db)
  }

  private func field(_ column: String, of name: AnyRecordName) throws(StoreError) -> FieldSchema {
    guard let entity = self[name.type] else {
      throw StoreError(
        .unknownType, "the type \(printable(name.type)) is not in the schema\(hint(forType: name.type))")
    }
    guard let field = entity.fields.first(where: { $0.name == column }) else {
      throw StoreError(
        .unknownField, "\(name.type) has no field \(printable(column))\(entity.hint(forField: column))")
    }
    return field
  }

  fileprivate static func add(
    _ db: Database, _ name: AnyRecordName, _ type: String, _ counter: String, _ amount: Int64
  ) throws {
    // A sum beyond 64 bits is a real in SQLite.
    let sql = """
      UPDATE "\(type)" SET "\(counter)" = "\(counter)" + ?1
      WHERE id = ?2 AND typeof("\(counter)" + ?1) = 'integer'
      """
    try db.cachedStatement(sql: sql).execute(arguments: [amount, name.text])
    guard db.changesCount == 0 else { return }
    let query = "SELECT typeof(\"\(counter)\" + ?1) FROM \"\(type)\" WHERE id = ?2"
    guard let sum = try String.fetchOne(db, sql: query, arguments: [amount, name.text]) else {
      throw StoreError(.noSuchRecord, "no record named \(name)")
    }
    guard sum == "integer" else {
      throw StoreError(.valueTooLarge, "\(name).\(counter): the number does not fit into 64 bits")
    }
    throw StoreError.ignored("the write of \(name)")
  }
}

/// Finds the session of a write by its database, for calls that are given no store.
enum WritingSessions {
  /// Used on its connection's queue alone, which whoever has its database is on.
  private struct Entry: @unchecked Sendable { weak var session: WritingSession? }

  private static let known = Mutex<[UInt: Entry]>([:])

  /// Notes a session that has just been made.
  static func note(_ session: WritingSession) {
    let entry = Entry(session: session)
    let key = UInt(bitPattern: session.connection.handle)
    known.withLock { known in
      known = known.filter { $0.value.session != nil }
      known[key] = entry
    }
  }

  /// The session that listens to what the app writes to a database.
  /// - Throws: `StoreError.notInWrite`.
  static func listening(_ db: Database) throws(StoreError) -> WritingSession {
    let entry = known.withLock { $0[UInt(bitPattern: db.sqliteConnection)] }
    guard let session = entry?.session, session.isListening, session.connection.handle == db.sqliteConnection else {
      throw StoreError(.notInWrite, "this needs the database of a write of a store")
    }
    return session
  }
}
