import GRDB
import TallyCRDT

/// The provenance of a visible record that came from a seed: a row of the table `tally_seeded`.
///
/// ```sql
/// SELECT t.*, s.version, s.belongsToUser FROM SpeechType t LEFT JOIN tally_seeded s ON s.name = t.id
/// ```
/// ```swift
/// let isOwn = try store.read { db in try SeededRecord.fetchOne(db, of: toast.name)?.belongsToUser ?? true }
/// ```
///
/// A record without a row did not come from a seed. The table follows merges and edits and can be observed with
/// `ValueObservation`; do not write to it. `SpeechType.seeded()` and `SpeechType.belongingToUser()` are requests for
/// the seeded and for the user's records of an entity.
public struct SeededRecord: Codable, Sendable, Hashable, FetchableRecord, TableRecord {
  /// The view in the file that lists seeded records.
  public static let databaseTableName = "tally_seeded"
  /// The whole name of the record, as in its `id` column.
  public var name: String
  /// The version of the seed set that the record shows.
  public var version: Int
  /// Whether the record belongs to the user because a person has edited it.
  public var belongsToUser: Bool

  init?(_ name: AnyRecordName, _ state: RecordState, _ kind: RecordKind) {
    guard let layer = state.shownSeed(followsNewest: kind.followsNewest) ?? state.seed?.newest else { return nil }
    self.name = name.text
    version = Int(layer.version)
    belongsToUser = state.belongsToUser
  }

  /// Returns the provenance of one record, and whether a person has edited it.
  ///
  /// ```swift
  /// let isOwn = try SeededRecord.fetchOne(db, of: toast.name)?.belongsToUser ?? true
  /// ```
  /// - Returns: nil for a record that is in no seed set or does not exist.
  public static func fetchOne(_ db: Database, of name: AnyRecordName) throws -> SeededRecord? {
    try fetchOne(db, sql: "SELECT * FROM tally_seeded WHERE name = ?", arguments: [name.text])
  }
}

extension TableRecord where Self: Entity {
  /// Returns a request for the records that a seed set declares, whether or not a person has edited them since.
  ///
  /// ```swift
  /// let defaults = try store.read { db in try SpeechType.seeded().fetchAll(db) }
  /// ```
  ///
  /// It is a request like any other: filter, order and observe it.
  public static func seeded() -> QueryInterfaceRequest<Self> {
    filter(sql: "\"\(schema.type)\".id IN (SELECT name FROM tally_seeded)")
  }

  /// Returns a request for the records that a person created or edited: those of no seed set, and edited seeds.
  ///
  /// ```swift
  /// let own = try store.read { db in try SpeechType.belongingToUser().fetchCount(db) }
  /// ```
  ///
  /// An edit on any device makes a seed the user's once it has arrived on this device.
  public static func belongingToUser() -> QueryInterfaceRequest<Self> {
    filter(sql: "\"\(schema.type)\".id NOT IN (SELECT name FROM tally_seeded WHERE belongsToUser = 0)")
  }
}
