import GRDB
import Synchronization
import TallyCRDT

/// A counter of an entity: a number to which devices add, and in which every addition counts.
///
/// ```swift
/// extension Game { static let score = Counter<Game>("score") }
/// ```
/// ```swift
/// try store.write { db in try Game.score.add(1, to: chess, in: db) }
/// ```
///
/// The number is an ordinary column for queries and for reading structs. Writing the column with SQL or as part of a
/// struct is an addition too: it adds the difference from the value that the row showed before the transaction. So
/// `UPDATE Game SET score = score + 1` does the same as ``add(_:to:in:)``, but saving a struct that was read before a
/// sync undoes what the sync added. GRDB's `updateChanges` writes only what the app has changed.
///
/// Both calls take the database of a ``Store/write(_:)`` and run on its thread.
public struct Counter<Record: Entity>: Sendable {
  /// The name of the counter's column.
  public let name: String

  /// Creates the counter of this name in the entity's schema, for a constant of the entity.
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

  /// Adds to the counter of one record. Concurrent additions of other devices count too.
  ///
  /// ```swift
  /// try store.write { db in try Game.score.add(3, to: chess, in: db) }
  /// ```
  ///
  /// An addition is an edit: it undoes a delete that had not seen it, unless deletes win in the entity. Cost: one row.
  /// - Parameters:
  ///   - amount: the number to add; negative to subtract.
  ///   - id: the name of the record.
  ///   - db: the database of a write.
  /// - Throws: `StoreError.noSuchRecord` if the record does not exist, `.valueTooLarge` if the number would not fit
  ///   into 64 bits, `.writeIgnored` if a trigger ignores the write; GRDB's `DatabaseError`. Then nothing has changed.
  public func add(_ amount: Int64, to id: RecordName<Record>, in db: Database) throws {
    try Schema.add(db, id.name, Record.schema.type, name, amount)
  }

  /// Sets the counter of one record to a number. If two devices set it at once, the later one wins; additions by
  /// devices that have not seen the winning set are added to it.
  ///
  /// ```swift
  /// try store.write { db in try Game.score.set(0, of: chess, in: db) }
  /// ```
  ///
  /// `UPDATE Game SET score = 0` is different: it subtracts the shown value, so two devices that run it at once
  /// subtract it twice.
  ///
  /// The number is written by an ordinary statement, so the app's triggers and checks apply. Earlier changes of the
  /// transaction are captured first, as if it ended there, so references must be valid by then. A `StoreError` ends the
  /// whole transaction, even if the app catches it; so does rolling back a savepoint around this call. Cost: one row.
  /// - Throws: `StoreError.noSuchRecord` if the record does not exist; `.valueTooLarge` if the difference between the
  ///   number and the sum of additions does not fit into 64 bits; `.writeIgnored` if a trigger of the app ignores the
  ///   write; `.notInWrite` if `db` is not the database of a store's write; GRDB's `DatabaseError` if a check or
  ///   trigger refuses the number. Then nothing has changed.
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
  /// - Throws: `StoreError.unknownType`, `.unknownField`, `.typeMismatch` for a field that is not a counter,
  ///   `.noSuchRecord`, `.valueTooLarge`, `.writeIgnored`; GRDB's `DatabaseError`. Then nothing has changed.
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
  ///   trigger refuses the value. Then nothing has changed.
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
