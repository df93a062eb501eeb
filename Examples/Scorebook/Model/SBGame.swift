import Tally

/// A game that is played in many matches.
struct SBGame: Entity, Codable, Equatable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "SBGame",
    .text("title"), .integer("minutes"), .bool("lowestWins", default: false),
    .asset("thumbnail", download: .eager), .blob("thumbnailImage"),
    .toMany("players", to: "SBPerson", ordered: true), .toMany("favorites", to: "SBPerson"))

  /// The people who play this game, in the order in which they take turns. A to-many relationship is a set: what one
  /// device adds stays, whatever another removes meanwhile, and who is moved is there once.
  static let players = Relationship<SBGame, SBPerson>("players")
  /// The people whose favorite it is.
  static let favorites = Relationship<SBGame, SBPerson>("favorites")
  /// The matches, newest or oldest first as you order them.
  static let matches = hasMany(SBMatch.self)

  var id = RecordName<SBGame>()
  var title: String?
  var minutes: Int?
  var lowestWins = false
  var thumbnail: AssetName?
}

extension SBGame {
  /// The names of the players, in their order.
  static func playerNames(_ db: Database, of game: RecordName<SBGame>) throws -> [String] {
    try players.ordered(db, of: game).compactMap { try SBPerson.find(db, id: $0).name }
  }

  /// The names of a relationship's members, in alphabetical order.
  static func names(
    _ db: Database, _ relationship: Relationship<SBGame, SBPerson>, of game: RecordName<SBGame>
  ) throws -> [String] {
    let members = try relationship.members(db, of: game)
    return try SBPerson.filter(keys: members).order(Column("name")).fetchAll(db).compactMap(\.name)
  }
}
