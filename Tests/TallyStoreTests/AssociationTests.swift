import GRDB
import Tally
import Testing

/// A relationship in GRDB's requests.
@Suite struct AssociationTests {
  private struct GameWithPlayers: Decodable, FetchableRecord, Equatable {
    var game: Game
    var players: [Person]
  }

  private struct Friend: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema("Friend", .text("name"), .toMany("friends", to: "Friend"))
    static let friends = Relationship<Friend, Friend>("friends")
    var id = RecordName<Friend>()
    var name: String?
  }

  @Test func membersComeWithTheirRecordsAlsoFromAnotherDevice() throws {
    let scratch = try Scratch()
    let (phone, tablet) = (try scratch.store("phone"), try scratch.store("tablet"))
    let (chess, go) = (Game(name: "Chess"), Game(name: "Go"))
    let (ann, bob) = (Person(name: "Ann"), Person(name: "Bob"))
    try phone.write { db in
      for game in [chess, go] { try game.insert(db) }
      for person in [ann, bob] { try person.insert(db) }
      for person in [bob, ann] { try Game.players.insert(db, person.id, to: chess.id) }
    }
    try phone.sync(with: tablet)
    try tablet.read { db in
      let players = Game.players.association.order(Column("name"))
      let games = try Game.order(Column("name")).including(all: players)
        .asRequest(of: GameWithPlayers.self).fetchAll(db)
      #expect(games == [.init(game: chess, players: [ann, bob]), .init(game: go, players: [])])
      #expect(try Game.having(Game.players.association.isEmpty).fetchAll(db) == [go])
      #expect(try Person.having(Game.players.inverse.isEmpty == false).fetchCount(db) == 2)
      #expect(try ann.request(for: Game.players.inverse).fetchAll(db) == [chess])
    }
  }

  /// Both ends are one table, so nothing but the columns tells them apart.
  @Test func aRelationshipWithinOneEntityKnowsItsEnds() throws {
    let store = try Store(inMemory: Schema(Friend.self))
    let (ann, bob) = (Friend(name: "Ann"), Friend(name: "Bob"))
    try store.write { db in
      for friend in [ann, bob] { try friend.insert(db) }
      try Friend.friends.insert(db, bob.id, to: ann.id)
    }
    try store.read { db throws in
      #expect(try ann.request(for: Friend.friends.association).fetchAll(db).map(\.name) == ["Bob"])
      #expect(try bob.request(for: Friend.friends.association).fetchCount(db) == 0)
      #expect(try bob.request(for: Friend.friends.inverse).fetchAll(db).map(\.name) == ["Ann"])
    }
  }
}
