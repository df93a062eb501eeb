import GRDB

/// One entry of the conflict journal as a row of the table `tally_conflict`, newest last: for `ValueObservation`.
///
/// ```swift
/// let count = ValueObservation.tracking { db in try ConflictRow.fetchCount(db) }
/// ```
public struct ConflictRow: Decodable, Sendable, FetchableRecord, TableRecord {
  /// The name of the journal's table in the file.
  public static let databaseTableName = "tally_conflict"
  /// The entry's number: a later entry has a higher one.
  public var n: Int64
  /// The time at which this replica noticed the conflict, in milliseconds since 1970 by its own clock.
  public var noticed: Int64
  /// The whole name of the record, as in its `id` column.
  public var name: String
  /// The field's wire name, which a rename does not change.
  public var field: String
}
