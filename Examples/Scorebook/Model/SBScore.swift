import Tally

/// The score of a player in one round.
///
/// One record a round rather than one running total: two devices that both score add up, and nobody's points are
/// overwritten.
struct SBScore: Entity, Codable, Equatable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "SBScore",
    .integer("round"), .integer("points"),
    .reference("player", to: "SBPlayer", onDelete: .cascade))

  static let player = belongsTo(SBPlayer.self)

  var id = RecordName<SBScore>()
  var round: Int?
  var points: Int?
  var player: RecordName<SBPlayer>?
}
