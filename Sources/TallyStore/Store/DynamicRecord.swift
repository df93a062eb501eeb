import Foundation
import GRDB
import TallyCRDT

/// A record of a type that is known only at run time, as the app sees it.
public struct DynamicRecord: Sendable, Equatable {
  /// The whole name of the record, with its type.
  public var name: AnyRecordName
  /// The fields and references by column name; all columns of the table.
  public var fields: [String: Value]
  /// The members of each relationship: in their order if the relationship is ordered, otherwise ascending.
  public var links: [String: [AnyRecordName]]

  /// Creates a record in memory, without writing it.
  /// - Parameters:
  ///   - name: the whole name, with the type.
  ///   - fields: values by column, references as text.
  ///   - links: the members by relationship.
  public init(name: AnyRecordName, fields: [String: Value] = [:], links: [String: [AnyRecordName]] = [:]) {
    self.name = name
    self.fields = fields
    self.links = links
  }
}

/// Records without Swift types: for tools, importers and tests. Apps with types of their own use GRDB's records.
extension Schema {
  /// Returns a record with all of its columns and members, without a Swift type.
  ///
  /// ```swift
  /// let record = try schema.record(db, AnyRecordName("Game|~|chess"))
  /// ```
  /// - Returns: the record as the app sees it; nil if it does not exist.
  /// - Throws: `StoreError.unknownType`; GRDB's `DatabaseError`.
  public func record(_ db: Database, _ name: AnyRecordName) throws -> DynamicRecord? {
    let entity = try entity(of: name)
    let columns = entity.columnNames
    // GRDB reads a text up to its first NUL, a blob whole.
    let list =
      columns.isEmpty
      ? "id"
      : columns.map {
        "CASE typeof(\"\($0)\") WHEN 'text' THEN CAST(\"\($0)\" AS BLOB) ELSE \"\($0)\" END, typeof(\"\($0)\")"
      }.joined(separator: ", ")
    let sql = "SELECT \(list) FROM \"\(entity.type)\" WHERE id = ?"
    guard let row = try Row.fetchOne(try db.cachedStatement(sql: sql), arguments: [name.text]) else { return nil }
    var record = DynamicRecord(name: name, fields: [:], links: [:])
    for (place, column) in columns.enumerated() {
      let value = Value(row[2 * place] as DatabaseValue)
      if case .blob(let bytes) = value, row[2 * place + 1] == "text" {
        record.fields[column] = String(validating: bytes, as: UTF8.self).map(Value.text) ?? value
      } else {
        record.fields[column] = value
      }
    }
    for relationship in entity.relationships {
      let table = Self.joinTable(entity.type, relationship.name)
      let targets = try String.fetchAll(
        try db.cachedStatement(
          sql: "SELECT target FROM \"\(table)\" WHERE source = ? ORDER BY \(relationship.order)target"),
        arguments: [name.text])
      record.links[relationship.name] = targets.compactMap { try? AnyRecordName($0) }
    }
    return record
  }

  /// Returns the names of all visible records of a type, ascending by their bytes. They are all in memory at once.
  /// - Returns: the names; a row that another program wrote under an invalid name is omitted.
  /// - Throws: `StoreError.unknownType`; GRDB's `DatabaseError`.
  public func names(_ db: Database, of type: String) throws -> [AnyRecordName] {
    guard let entity = self[type] else { throw unknown(type) }
    return try String.fetchAll(db, sql: "SELECT id FROM \"\(entity.type)\" ORDER BY id").compactMap {
      // Another program may have written a row under an invalid name.
      try? AnyRecordName($0)
    }
  }

  /// Inserts a record, or changes the given fields of an existing one, whose other fields stay unchanged.
  ///
  /// ```swift
  /// try schema.put(db, AnyRecordName("Game|~|chess"), ["name": "Chess"])
  /// ```
  ///
  /// Fields are given by column name, references as text.
  /// - Throws: `StoreError.unknownType`, `.unknownField`, `.typeMismatch`; GRDB's `DatabaseError` if a constraint of
  ///   the app refuses the row; `.writeIgnored` if a trigger or conflict clause ignores it. Then nothing was written.
  public func put(_ db: Database, _ name: AnyRecordName, _ fields: [String: Value]) throws {
    let entity = try entity(of: name)
    let assignments = fields.sorted { $0.key < $1.key }
    for (column, value) in assignments { try entity.check(value, of: column, name) }
    let put = try PutStatement(entity, assignments.lazy.map(\.key), in: db)
    try put.run(name, assignments.lazy.map(\.value))
  }

  /// Deletes a record. The records that it owns disappear with it when the transaction ends.
  /// - Throws: `StoreError.unknownType`, `.noSuchRecord`, `.writeIgnored`; at the end of the transaction
  ///   `.deleteDenied`.
  public func delete(_ db: Database, _ name: AnyRecordName) throws {
    let entity = try entity(of: name)
    try db.execute(sql: "DELETE FROM \"\(entity.type)\" WHERE id = ?", arguments: [name.text])
    guard db.changesCount == 0 else { return }
    let sql = "SELECT EXISTS(SELECT 1 FROM \"\(entity.type)\" WHERE id = ?)"
    guard try Bool.fetchOne(db, sql: sql, arguments: [name.text]) != true else {
      throw StoreError.ignored("the delete of \(name)")
    }
    throw StoreError(.noSuchRecord, "no record named \(name)")
  }

  /// Adds a member to a relationship; does nothing if it is already a member. In an ordered relationship a place can be
  /// given; an existing member moves there.
  /// - Throws: `StoreError.unknownType`, `.unknownRelationship`, `.typeMismatch`; the errors of ``put(_:_:_:)`` if a
  ///   constraint, trigger or conflict clause of the app refuses the member; at the end of the transaction
  ///   `.danglingReference` if one of the two records does not exist. With a place also `.noSuchRecord`,
  ///   `.positionTooDeep`, `.invalidSchema`.
  public func link(
    _ db: Database, _ name: AnyRecordName, _ relationship: String, to target: AnyRecordName,
    at place: ListPlace<AnyRecordName>? = nil
  ) throws {
    let table = try table(name, relationship, target)
    guard let place else {
      return try PutStatement(joinTable: table, in: db).run(name, CollectionOfOne(.text(target.text)))
    }
    guard let list = OrderedList(try entity(of: name), relationship: relationship) else {
      throw StoreError.notOrdered(table)
    }
    try OrderedRows(db, list, of: name.text).put(target.text, at: place.map(\.text))
  }

  /// Removes a member from a relationship; does nothing if it is not a member. Adds that this device has not seen stay.
  /// - Throws: `StoreError.unknownType`, `.unknownRelationship`, `.typeMismatch`, `.writeIgnored`.
  public func unlink(_ db: Database, _ name: AnyRecordName, _ relationship: String, from target: AnyRecordName) throws {
    let table = try table(name, relationship, target)
    try db.execute(
      sql: "DELETE FROM \"\(table)\" WHERE source = ? AND target = ?", arguments: [name.text, target.text])
    guard db.changesCount == 0 else { return }
    let sql = "SELECT EXISTS(SELECT 1 FROM \"\(table)\" WHERE source = ? AND target = ?)"
    guard try Bool.fetchOne(db, sql: sql, arguments: [name.text, target.text]) != true else {
      throw StoreError.ignored("removing \(target) from \(table) of \(name)")
    }
  }

  private func table(_ name: AnyRecordName, _ relationship: String, _ target: AnyRecordName) throws -> String {
    let entity = try entity(of: name)
    guard let declared = entity.relationships.first(where: { $0.name == relationship }) else {
      throw StoreError(
        .unknownRelationship,
        "\(entity.type) has no relationship \(printable(relationship))\(entity.hint(forRelationship: relationship))")
    }
    try entity.check(target, as: declared)
    return Self.joinTable(entity.type, relationship)
  }

  private func entity(of name: AnyRecordName) throws(StoreError) -> EntitySchema {
    guard let entity = self[name.type] else { throw unknown(name.type) }
    return entity
  }

  private func unknown(_ type: String) -> StoreError {
    StoreError(.unknownType, "the type \(printable(type)) is not in the schema\(hint(forType: type))")
  }
}

extension RelationshipSchema {
  /// What comes before the member in ORDER BY.
  var order: String { isOrdered ? "position, " : "" }
}
