import GRDB
import GRDBSQLite
import TallyCRDT

/// The statement that inserts a record or changes these columns of one that is there.
struct PutStatement {
  private let statement: Statement
  private let handle: SQLStatement
  private let database: OpaquePointer?
  /// Returns 1 if what the statement is to make is there.
  private let query: SQLStatement
  /// Whether the statement may rightly find nothing to do.
  private let mayBeThere: Bool

  /// The statement for these columns of the entity, none of which is there twice.
  init(_ entity: EntitySchema, _ columns: some Sequence<String>, in db: Database) throws {
    var (list, marks, updates) = ("", "", "")
    for column in columns {
      list += ", \"\(column)\""
      marks += ", ?"
      updates += "\(updates.isEmpty ? "UPDATE SET " : ", ")\"\(column)\" = excluded.\"\(column)\""
    }
    try self.init(
      db,
      "INSERT INTO \"\(entity.type)\"(id\(list)) VALUES(?\(marks)) "
        + "ON CONFLICT(id) DO \(updates.isEmpty ? "NOTHING" : updates)",
      query: "SELECT 1 FROM \"\(entity.type)\" WHERE id = ?", mayBeThere: updates.isEmpty)
  }

  /// The statement that adds a member to a relationship.
  init(joinTable: String, in db: Database) throws {
    try self.init(
      db, Schema.insertMember(joinTable), query: "SELECT 1 FROM \"\(joinTable)\" WHERE source = ? AND target = ?",
      mayBeThere: true)
  }

  private init(_ db: Database, _ sql: String, query: String, mayBeThere: Bool) throws {
    let database = try db.handle()
    statement = try db.cachedStatement(sql: sql)
    handle = SQLStatement(borrowing: statement, of: database)
    (self.database, self.mayBeThere) = (database, mayBeThere)
    self.query = try SQLStatement(database, query)
    // What GRDB would bind goes up to the first NUL of a text. What is bound below, GRDB leaves in place.
    statement.setUncheckedArguments(StatementArguments())
  }

  /// Runs it as GRDB does, which tells its observers.
  /// - Throws: GRDB's `DatabaseError` if a constraint refuses it; `StoreError.writeIgnored` if something of the app's
  ///   has made SQLite pass over it.
  func run(_ name: AnyRecordName, _ values: some Sequence<Value>) throws {
    handle.reset()
    handle.bind(1, name.text)
    var index = 2
    for value in values {
      handle.bind(index, value)
      index += 1
    }
    try statement.execute()
    guard sqlite3_changes(database) == 0 else { return }
    guard try mayBeThere && isThere(name, values) else { throw StoreError.ignored("the write of \(name)") }
  }

  private func isThere(_ name: AnyRecordName, _ values: some Sequence<Value>) throws -> Bool {
    query.reset()
    defer { query.reset() }
    query.bind(1, name.text)
    for (index, value) in values.enumerated() { query.bind(2 + index, value) }
    return try query.step()
  }
}

extension Schema {
  /// Adds a member that is none. `OR IGNORE` would also pass over what constraints of the app's own refuse.
  static func insertMember(_ table: String) -> String {
    """
    INSERT INTO "\(table)"(source, target) SELECT ?1, ?2
    WHERE NOT EXISTS(SELECT 1 FROM "\(table)" WHERE source = ?1 AND target = ?2)
    """
  }
}

extension StoreError {
  static func ignored(_ write: String) -> StoreError {
    StoreError(.writeIgnored, "\(write) did nothing: a trigger or a conflict clause of the app's ignores it")
  }
}

/// Writes many records in one transaction: columns are found, and statements prepared, once for each set of columns.
///
/// Use it on the connection's queue, in the transaction that it was made in.
package final class RecordWriter {
  /// A column and what is to stand in it.
  package struct Assignment: Sendable, Equatable {
    /// The column's place in `EntitySchema.columnNames`.
    package var column: Int
    package var value: Value

    package init(_ column: Int, _ value: Value) { (self.column, self.value) = (column, value) }
  }

  private struct Table {
    let entity: EntitySchema
    let columns: [String]
    var puts: [[Int]: PutStatement] = [:]
    var links: [Int: PutStatement] = [:]
    var query: SQLStatement?
    /// The columns of the last record, which mostly are those of the next.
    var last: (columns: [Int], put: PutStatement)?
  }

  private let db: Database
  private var tables: [Table]

  package init(_ schema: Schema, in db: Database) {
    self.db = db
    tables = schema.entities.map { Table(entity: $0, columns: $0.columnNames) }
  }

  /// Inserts a record, or changes the given columns of one that is there. `entity` is the place of its type in the
  /// schema.
  /// - Throws: `StoreError.typeMismatch`, `.ownsItself`, `.writeIgnored`.
  package func put(_ name: AnyRecordName, _ entity: Int, _ values: [Assignment]) throws {
    for assignment in values { try tables[entity].entity.check(assignment.value, at: assignment.column, name) }
    try statement(entity, values).run(name, values.lazy.map(\.value))
  }

  private func statement(_ entity: Int, _ values: [Assignment]) throws -> PutStatement {
    if let last = tables[entity].last, last.columns.elementsEqual(values.lazy.map(\.column)) { return last.put }
    let columns = values.map(\.column)
    let table = tables[entity]
    let put =
      try table.puts[columns] ?? PutStatement(table.entity, columns.lazy.map { table.columns[$0] }, in: db)
    tables[entity].puts[columns] = put
    tables[entity].last = (columns, put)
    return put
  }

  /// Adds a member to a relationship, which is given by its place in the entity.
  /// - Throws: `StoreError.typeMismatch`, `.writeIgnored`.
  package func link(_ name: AnyRecordName, _ entity: Int, _ relationship: Int, to target: AnyRecordName) throws {
    let type = tables[entity].entity
    try type.check(target, as: type.relationships[relationship])
    let insert =
      try tables[entity].links[relationship]
      ?? PutStatement(joinTable: Schema.joinTable(type.type, type.relationships[relationship].name), in: db)
    tables[entity].links[relationship] = insert
    try insert.run(name, CollectionOfOne(.text(target.text)))
  }

  /// Returns whether there is a record of this name. `entity` is the place of its type in the schema.
  package func isThere(_ name: AnyRecordName, _ entity: Int) throws -> Bool {
    let handle = try db.handle()
    let query =
      try tables[entity].query ?? SQLStatement(handle, "SELECT 1 FROM \"\(tables[entity].entity.type)\" WHERE id = ?")
    tables[entity].query = query
    defer { query.reset() }
    query.bind(1, name.text)
    return try query.step()
  }
}
