import GRDB
import TallyCRDT

/// A unique value that a record does not show because another record holds it: a row of the table `tally_unique`.
///
/// ```swift
/// let contested = try store.read { db in try ContestedValue.fetchAll(db) }
/// for value in contested { print("\(value.name) wants \(value.field) \(value.wanted)") }
/// ```
///
/// The table follows merges and edits and can be observed with `ValueObservation`, so an app can ask for another value
/// at once; do not write to it. A record's row disappears when the record gets a value that no other record has, or
/// when the holder gives up the value. See ``UniqueRule``.
public struct ContestedValue: Sendable, Hashable, FetchableRecord, TableRecord {
  /// The name of the table in the file.
  public static let databaseTableName = "tally_unique"
  /// The whole name of the record, as in its `id` column.
  public var name: String
  /// The name of the column that does not show the record's value.
  public var field: String
  /// The value that the record has but does not show.
  public var wanted: Value
  /// The value that the record's row shows: null, or the text with a suffix.
  public var shown: Value
  /// The whole name of the record that shows the value; nil if it is a row that SQLite refuses to remove.
  public var holder: String?

  init(name: String, field: String, wanted: Value, shown: Value, holder: String?) {
    (self.name, self.field, self.wanted, self.shown, self.holder) = (name, field, wanted, shown, holder)
  }

  /// Creates a value from a row of the table.
  public init(row: Row) throws {
    (name, field, holder) = (row["name"], row["field"], row["holder"])
    (wanted, shown) = (Value(row["wanted"] as DatabaseValue), Value(row["shown"] as DatabaseValue))
  }
}
