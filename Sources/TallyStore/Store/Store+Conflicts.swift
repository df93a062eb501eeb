import GRDB
import TallyCRDT

extension Store {
  /// Writes the value that lost back, as a new edit made now: it wins everywhere over what it had lost to. If that was
  /// a delete, the record comes back first, in a transaction of its own (`restore(_:)` of its name).
  ///
  /// The entry stays in the journal, and the value that it replaces is not journalled: this replica has seen both.
  /// - Returns: the dot of the edit, or of the record's restore if that has shown the value; nil if the field has the
  ///   value already.
  /// - Throws: `StoreError.noSuchRecord` if the record is not there, `.unknownField` if this schema does not have the
  ///   field, `.typeMismatch`, `.danglingReference` if it is a reference to what is not there. Nothing has changed
  ///   then.
  @discardableResult
  public func restore(_ conflict: Conflict) throws -> Dot? {
    let schema = try schema
    guard let entity = schema[conflict.name.type] else {
      throw StoreError(.unknownType, "the type \(printable(conflict.name.type)) is not in the schema")
    }
    let column = entity.fields.first { $0.wireName == conflict.field }?.name ?? conflict.field
    let isGone = try conflict.winnerIsDelete && read { try schema.record($0, conflict.name) == nil }
    let restored = isGone ? try restore(conflict.name) : nil
    let edited = try commit { db in
      guard try schema.record(db, conflict.name) != nil else {
        throw StoreError(.noSuchRecord, "\(conflict.name) is not there")
      }
      try schema.put(db, conflict.name, [column: conflict.loserValue])
    }.dot
    return edited ?? restored
  }
}

/// One entry of the conflict journal as a row of the table `tally_conflict`, newest last: for `ValueObservation`.
///
/// ```swift
/// let count = ValueObservation.tracking { db in try ConflictRow.fetchCount(db) }
/// ```
public struct ConflictRow: Decodable, Sendable, FetchableRecord, TableRecord {
  /// The table.
  public static let databaseTableName = "tally_conflict"
  /// The entry's number.
  public var n: Int64
  /// When this replica noticed, in milliseconds since 1970 by its own clock.
  public var noticed: Int64
  /// The record's name.
  public var name: String
  /// The field's wire name.
  public var field: String
}
