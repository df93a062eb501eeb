import Tally

/// The score of a player in one round.
///
/// The points are a counter: two devices that give points in the same round at the same time give them all.
struct SBScore: Entity, Codable, Equatable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "SBScore",
    .integer("round"), .counter("points"),
    .reference("player", to: "SBPlayer", onDelete: .cascade))

  static let player = belongsTo(SBPlayer.self)
  static let points = Counter<SBScore>("points")

  var id = RecordName<SBScore>()
  var round: Int?
  var points = 0
  var player: RecordName<SBPlayer>?
}
