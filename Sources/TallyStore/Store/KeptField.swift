import GRDB
import TallyCRDT

/// A number of an entity that keeps the greatest or the least value which any device has written.
///
/// ```swift
/// extension Game { static let best = KeptField<Game>("best") }
/// ```
///
/// SQL and structs raise it, as any column is written: `UPDATE Game SET best = 12`. What goes no further than what
/// shows is put back when the transaction ends. This is for who wants to begin again.
public struct KeptField<Record: Entity>: Sendable {
  /// The name of the column.
  public let name: String

  /// The number of this name in the entity's schema, for a constant of the entity.
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

  /// Makes the number of one record begin again with a value, or with none. What others raise without having seen that
  /// is lost to it, and is in the conflict journal; of two devices that set at once the later counts.
  ///
  /// ```swift
  /// try store.write { db in try Game.best.set(0, of: chess, in: db) }
  /// ```
  ///
  /// The value is written by a statement of the app's, for its triggers and checks. Changes that the transaction has
  /// made before are captured first, as if it ended there: references must hold by then. A savepoint that is rolled
  /// back after such a call within it ends the whole transaction. Cost: one row.
  /// - Throws: `StoreError.noSuchRecord` if the record is not there; `.typeMismatch` for a value that the column does
  ///   not take; `.writeIgnored` if a trigger of the app's ignores the write; `.notInWrite` if `db` is not that of a
  ///   store's write; GRDB's `DatabaseError` if a check or trigger refuses the value. Nothing has changed then.
  public func set(_ value: (any DatabaseValueConvertible)?, of id: RecordName<Record>, in db: Database) throws {
    let value = Value(value?.databaseValue ?? .null)
    try ColumnSetting.set(name, of: id.name, to: value, in: db)
  }
}
