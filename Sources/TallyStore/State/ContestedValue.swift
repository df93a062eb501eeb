import GRDB
import TallyCRDT

/// A unique value that a record has and does not show, because another record holds it: a row of the table
/// `tally_unique`.
///
/// ```swift
/// let contested = try store.read { db in try ContestedValue.fetchAll(db) }
/// for value in contested { print("\(value.name) wants \(value.field) \(value.wanted)") }
/// ```
///
/// The table follows merges and edits, also for `ValueObservation`, so an app can ask for another value as soon as
/// there is something to ask; do not write to it. A record leaves it when it gets a value that no other has, or when
/// the holder gives up its own. See ``UniqueRule``.
public struct ContestedValue: Sendable, Hashable, FetchableRecord, TableRecord {
  /// The table in the file.
  public static let databaseTableName = "tally_unique"
  /// The whole name of the record, as its `id` column holds it.
  public var name: String
  /// The name of the column that shows something else than the record has.
  public var field: String
  /// The value that the record has.
  public var wanted: Value
  /// The value that its row shows: null, or a text with letters behind it.
  public var shown: Value
  /// The whole name of the record that shows the value; nil if it is one that SQLite does not let go.
  public var holder: String?

  init(name: String, field: String, wanted: Value, shown: Value, holder: String?) {
    (self.name, self.field, self.wanted, self.shown, self.holder) = (name, field, wanted, shown, holder)
  }

  /// Reads a row of the table.
  public init(row: Row) throws {
    (name, field, holder) = (row["name"], row["field"], row["holder"])
    (wanted, shown) = (Value(row["wanted"] as DatabaseValue), Value(row["shown"] as DatabaseValue))
  }
}
