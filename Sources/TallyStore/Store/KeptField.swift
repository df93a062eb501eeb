import GRDB
import TallyCRDT

/// A number of an entity that keeps the greatest or the least value that any device has written.
///
/// ```swift
/// extension Game { static let best = KeptField<Game>("best") }
/// ```
///
/// SQL and structs raise it like any other column: `UPDATE Game SET best = 12`. A value that does not go beyond the
/// current one is reverted when the transaction ends. Use this type to begin again.
public struct KeptField<Record: Entity>: Sendable {
  /// The name of the column.
  public let name: String

  /// Creates the kept number of this name in the entity's schema, for a constant of the entity.
  ///
  /// ```swift
  /// let best = KeptField<Game>("best")
  /// ```
  ///
  /// Nothing is read or written; the value is a name and a type.
  /// - Precondition: the schema has a field of that name that keeps the greatest or the least.
  public init(_ name: String) {
    let isDeclared = Record.schema.fields.contains { $0.name == name && $0.keep != nil }
    precondition(isDeclared, "\(Record.schema.type) has no \(name) that keeps the greatest or the least")
    self.name = name
  }

  /// Makes the number of one record begin again with a value, or with none. Values of devices that have not seen this
  /// lose and are in the conflict journal. If two devices set it at once, the later one wins.
  ///
  /// ```swift
  /// try store.write { db in try Game.best.set(0, of: chess, in: db) }
  /// ```
  ///
  /// The value is written by an ordinary statement, so the app's triggers and checks apply. Earlier changes of the
  /// transaction are captured first, as if it ended there, so references must be valid by then. Rolling back a
  /// savepoint around this call ends the whole transaction. Cost: one row.
  /// - Throws: `StoreError.noSuchRecord` if the record does not exist; `.typeMismatch` for a value that the column does
  ///   not accept; `.writeIgnored` if a trigger of the app ignores the write; `.notInWrite` if `db` is not the database
  ///   of a store's write; GRDB's `DatabaseError` if a check or trigger refuses the value. Then nothing has changed.
  public func set(_ value: (any DatabaseValueConvertible)?, of id: RecordName<Record>, in db: Database) throws {
    let value = Value(value?.databaseValue ?? .null)
    try ColumnSetting.set(name, of: id.name, to: value, in: db)
  }
}
