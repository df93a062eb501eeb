import Tally

/// The place of a match.
struct SBMatchLocation: Entity, Codable, Equatable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "SBMatchLocation",
    .text("name"), .real("latitude"), .real("longitude"),
    .reference("match", to: "SBMatch", onDelete: .cascade))

  static let match = belongsTo(SBMatch.self)

  var id = RecordName<SBMatchLocation>()
  var name: String?
  var latitude: Double?
  var longitude: Double?
  var match: RecordName<SBMatch>?
}
