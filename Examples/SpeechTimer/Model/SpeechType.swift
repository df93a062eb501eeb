import Tally

/// A kind of speech: how long it may take, and the color of its clock.
struct SpeechType: Entity, Codable, Equatable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "SpeechType", .text("name"), .integer("seconds", default: 60), .text("color", default: "white"))

  var id = RecordName<SpeechType>()
  var name: String?
  var seconds = 60
  var color = "white"
}

/// A speech type as the app shows it: an ordinary query, joined with the facts about its seed.
struct SpeechTypeRow: Decodable, Equatable, FetchableRecord {
  var id: RecordName<SpeechType>
  var name: String
  var seconds: Int
  var color: String
  /// Whether somebody made it or changed it. Otherwise it is as the app ships it.
  var isOwn: Bool

  /// All of them.
  static func all(_ db: Database) throws -> [SpeechTypeRow] {
    try fetchAll(
      db,
      sql: """
        SELECT SpeechType.id, coalesce(SpeechType.name, '') AS name, seconds, color,
          coalesce(belongsToUser, 1) AS isOwn
        FROM SpeechType LEFT JOIN tally_seeded ON tally_seeded.name = SpeechType.id
        ORDER BY SpeechType.id
        """)
  }
}
