import Foundation
import Tally

/// One evening of one game. It owns its players, images and location, and through the players their scores.
struct SBMatch: Entity, Codable, Equatable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "SBMatch",
    .date("playedAt"), .text("note"), .bool("isFinished", default: false),
    // A match belongs to its game: it disappears with the game and comes back with it.
    .reference("game", to: "SBGame", onDelete: .cascade))

  static let game = belongsTo(SBGame.self)
  static let players = hasMany(SBPlayer.self)
  static let images = hasMany(SBMatchImage.self)
  static let location = hasOne(SBMatchLocation.self)

  var id = RecordName<SBMatch>()
  var playedAt: Date?
  var note: String?
  var isFinished = false
  var game: RecordName<SBGame>?
}
