import GRDB
import Tally
import TallyCRDT
import TallyRig
import TallyStore
import Testing

/// The first release has a type `Game`. The next one calls the Swift type `Match`, and has the old name in its schema.
@Suite struct RenamedTypeTests {
  private struct Game: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema("Game", .text("title", default: ""))
    var id = RecordName<Game>()
    var title = ""
  }

  private struct Match: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema(
      "Game", .text("title", default: ""), .integer("minutes"), .reference("rematch", to: "Game"))
    var id = RecordName<Match>()
    var title = ""
    var minutes: Int?
    var rematch: RecordName<Match>?
  }

  @Test func aRenamedSwiftTypeHasTheSameRecords() throws {
    let scratch = try Scratch()
    let first = try scratch.store("a", schema: Schema(Game.self))
    let chess = Game(title: "Chess")
    try first.write { try chess.insert($0) }
    let before = try first.summary()
    try first.close()

    let store = try scratch.store("a", schema: Schema(Match.self))
    #expect(try store.summary() == before)
    var match = try #require(try store.read { try Match.fetchOne($0) })
    #expect(match.id.name == chess.id.name && match.title == "Chess")
    let again = Match(title: "Again", rematch: match.id)
    try store.write { db in
      try match.updateChanges(db) { $0.minutes = 40 }
      try again.insert(db)
    }
    #expect("\(again.id)".hasPrefix("Game|~|"))

    let older = try scratch.store("older", schema: Schema(Game.self))
    #expect(try older.sync(with: store).isConverged)
    #expect(try older.read { try Game.order(Column("title")).fetchAll($0).map(\.title) } == ["Again", "Chess"])
    try older.write { db in
      var game = try Game.find(db, id: chess.id)
      try game.updateChanges(db) { $0.title = "Rapid chess" }
    }
    #expect(try older.sync(with: store).isConverged)
    let shown = try store.read { try Match.find($0, id: match.id) }
    #expect(shown.title == "Rapid chess" && shown.minutes == 40)
    try expectConverged(store, older)
  }

  /// SQL may have a name of its own for the table, too.
  @Test func aViewGivesTheTableAnotherName() throws {
    let scratch = try Scratch()
    let first = try scratch.store("a", schema: Schema(Game.self))
    try first.write { db in
      try Game(title: "Chess").insert(db)
      try db.create(view: "Match", asLiteral: "SELECT * FROM Game")
    }
    try first.close()
    let store = try scratch.store("a", schema: Schema(Match.self))
    try store.write { try $0.execute(sql: "UPDATE Game SET minutes = 40") }
    #expect(try store.read { try Int.fetchOne($0, sql: "SELECT minutes FROM Match WHERE title = 'Chess'") } == 40)
    try expectConverged(store)
  }
}
