import Foundation
import Tally

struct Person: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema("Person", .text("name"))
  var id = RecordName<Person>()
  var name: String?
}

struct Game: Entity, Codable, FetchableRecord, PersistableRecord {
  static let schema = EntitySchema(
    "Game", .text("title"), .integer("minutes"), .toMany("players", to: "Person"))
  static let players = Relationship<Game, Person>("players")
  var id = RecordName<Game>()
  var title: String?
  var minutes: Int?
}

/// Two replicas edit the same game while they are apart, and meet.
func twoReplicas() throws -> String {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let schema = Schema(Person.self, Game.self)
  let phone = try Store(path: folder.path + "/phone.tally", schema: schema)
  let tablet = try Store(path: folder.path + "/tablet.tally", schema: schema)

  // The phone writes, as with GRDB alone. Then the tablet has it, too.
  let (ann, ben) = (Person(name: "Ann"), Person(name: "Ben"))
  let chess = Game(title: "Chess", minutes: 60)
  try phone.write { db in
    try ann.insert(db)
    try ben.insert(db)
    try chess.insert(db)
    try Game.players.insert(db, ann.id, to: chess.id)
  }
  try phone.sync(with: tablet)

  // Apart from each other, both edit the game: with records, with SQL, as you like.
  try phone.write { db in
    var game = try Game.find(db, key: chess.id)
    game.title = "Blitz chess"
    try game.update(db)
    try Game.players.remove(db, ann.id, from: chess.id)
  }
  try tablet.write { db in
    try db.execute(sql: "UPDATE Game SET minutes = 10 WHERE title = 'Chess'")
    try Game.players.insert(db, ben.id, to: chess.id)
  }

  // They meet, and both hold both edits.
  let report = try phone.sync(with: tablet)
  func describe(_ store: Store) throws -> String {
    try store.read { db in
      let game = try Game.find(db, key: chess.id)
      let players = try Person.filter(keys: Game.players.members(db, of: chess.id)).fetchAll(db)
      return "\(game.title ?? "?"), \(game.minutes ?? 0) minutes, \(players.compactMap(\.name))"
    }
  }
  return """
    phone:  \(try describe(phone))
    tablet: \(try describe(tablet))
    converged: \(report.isConverged)
    """
}
