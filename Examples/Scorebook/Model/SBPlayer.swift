import Tally

/// A person's seat in one match.
struct SBPlayer: Entity, Codable, Equatable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "SBPlayer",
    // The name as it stands on the score sheet; it stays readable when the person is deleted.
    .text("name"), .integer("seat"),
    .reference("match", to: "SBMatch", onDelete: .cascade),
    // Not owned by the person: without the person the reference reads as nil, and the match stays complete.
    .reference("person", to: "SBPerson", onDelete: .nullify))

  static let match = belongsTo(SBMatch.self)
  static let person = belongsTo(SBPerson.self)
  static let scores = hasMany(SBScore.self)

  var id = RecordName<SBPlayer>()
  var name: String?
  var seat: Int?
  var match: RecordName<SBMatch>?
  var person: RecordName<SBPerson>?
}
