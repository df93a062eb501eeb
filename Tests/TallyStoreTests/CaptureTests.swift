import Foundation
import GRDB
import Tally
import Testing

/// Every write is captured, however it is made, once.
@Suite struct CaptureTests {
  let scratch: Scratch
  let store: Store

  init() throws {
    scratch = try Scratch()
    store = try scratch.store()
  }

  private func sequence() throws -> UInt64 { try store.vector.entries.first?.sequence ?? 0 }

  @Test func recordsQueryInterfaceAndSQLAreCaptured() throws {
    let game = Game(name: "Chess")
    try store.write { try game.insert($0) }
    #expect(try sequence() == 1)
    try store.write { _ = try Game.updateAll($0, Column("rating").set(to: 4.5)) }
    #expect(try sequence() == 2)
    try store.write { try $0.execute(sql: "UPDATE SBGame SET name = 'Go'") }
    #expect(try sequence() == 3)
    let history = try #require(try store.history(of: game.id.name))
    let sequences = Dictionary(uniqueKeysWithValues: history.fields.map { ($0.field, $0.stamp.dot.sequence) })
    #expect(sequences["rating"] == 2)
    #expect(sequences["name"] == 3)
    try expectConverged(store)
  }

  @Test func aTransactionHasOneDot() throws {
    try store.write { db in
      for number in 1...5 { try Game(name: "Game \(number)").insert(db) }
      try Person(name: "Ann").insert(db)
    }
    #expect(try sequence() == 1)
  }

  @Test func allKindsOfFieldsSurviveTheTrip() throws {
    let author = Person(name: "Zoë 'Z' \"é\"", born: Date(timeIntervalSince1970: 1_000_000.123))
    let game = Game(
      name: "", rating: -0.5, isTeam: true, rules: ["a", "b"], icon: Data([0, 255, 0]), code: UUID(), author: author.id)
    try store.write { db in
      try author.insert(db)
      try game.insert(db)
    }
    let other = try scratch.store("other")
    try store.sync(with: other)
    #expect(try other.read { try Game.fetchOne($0) } == game)
    #expect(try other.read { try Person.fetchOne($0) } == author)
    try expectConverged(store, other)
  }

  @Test func equalValuesMakeNoDot() throws {
    let game = Game(name: "Chess", rating: 3)
    try store.write { try game.insert($0) }
    #expect(try store.commit { try game.update($0) }.dot == nil)
    #expect(try store.commit { try $0.execute(sql: "UPDATE SBGame SET rating = 3, name = 'Chess'") }.dot == nil)
    #expect(
      try store.commit { db in
        try db.execute(sql: "UPDATE SBGame SET rating = 4")
        try db.execute(sql: "UPDATE SBGame SET rating = 3")
      }.dot == nil)
    #expect(try sequence() == 1)
  }

  @Test func aRolledBackTransactionLeavesNothing() throws {
    struct Stop: Error {}
    try store.write { try Game(name: "Chess").insert($0) }
    let before = try store.summary()
    #expect(throws: Stop.self) {
      try store.write { db in
        try Game(name: "Go").insert(db)
        throw Stop()
      }
    }
    #expect(try store.summary() == before)
    try store.write { try Game(name: "Go").insert($0) }
    #expect(try sequence() == 2)
    try expectConverged(store)
  }

  @Test func aRolledBackSavepointLeavesNothing() throws {
    let game = Game(name: "Chess")
    try store.write { try game.insert($0) }
    let commit = try store.commit { db in
      try db.inSavepoint {
        try db.execute(sql: "UPDATE SBGame SET name = 'Go'")
        try Game(name: "Other").insert(db)
        return .rollback
      }
    }
    #expect(commit.dot == nil)
    #expect(try store.read { try Game.fetchAll($0) } == [game])
    try expectConverged(store)
  }

  @Test func insertOrReplaceIsAnUpdate() throws {
    let (ann, game) = (Person(name: "Ann"), Game(name: "Chess", rating: 3))
    try store.write { db in
      try ann.insert(db)
      try game.insert(db)
      try Game.players.insert(db, ann.id, to: game.id)
    }
    try store.write { db in
      try db.execute(sql: "INSERT OR REPLACE INTO SBGame(id, name) VALUES(?, 'Chess')", arguments: [game.id])
    }
    let history = try #require(try store.history(of: game.id.name))
    #expect(history.existence?.dot.sequence == 1)
    #expect(history.fields.first { $0.field == "name" }?.stamp.dot.sequence == 1)
    #expect(history.fields.first { $0.field == "rating" }?.value == .null)
    #expect(history.deletes.isEmpty)
    #expect(try store.read { try Game.players.members($0, of: game.id) } == [ann.id])
    try expectConverged(store)
  }

  @Test func upsertAndInsertOrIgnoreAreNetEffects() throws {
    var game = Game(name: "Chess", rating: 3)
    try store.write { try game.insert($0) }
    #expect(try store.commit { try game.insert($0, onConflict: .ignore) }.dot == nil)
    game.rating = 5
    try store.write { try game.upsert($0) }
    #expect(try sequence() == 2)
    #expect(try store.read { try Game.fetchOne($0) } == game)
    try expectConverged(store)
  }

  @Test func deleteAndInsertInOneTransactionIsAnUpdate() throws {
    var game = Game(name: "Chess")
    try store.write { try game.insert($0) }
    game.name = "Go"
    try store.write { db in
      try game.delete(db)
      try game.insert(db)
    }
    let history = try #require(try store.history(of: game.id.name))
    #expect(history.deletes.isEmpty)
    #expect(history.fields.first { $0.field == "name" }?.value == .text("Go"))
    try expectConverged(store)
  }

  @Test func reinsertingADeletedNameIsANewLife() throws {
    let (ann, game) = (Person(name: "Ann"), Game(name: "Chess", rating: 3))
    try store.write { db in
      try ann.insert(db)
      try game.insert(db)
      try Game.players.insert(db, ann.id, to: game.id)
    }
    let other = try scratch.store("other")
    try store.sync(with: other)
    try store.write { _ = try game.delete($0) }
    try store.write { try Game(id: game.id, name: "Chess again").insert($0) }
    try store.sync(with: other)
    for replica in [store, other] {
      let found = try replica.read { try Game.find($0, key: game.id) }
      #expect(found == Game(id: game.id, name: "Chess again"))
      #expect(try replica.read { try Game.players.members($0, of: game.id) } == [])
    }
    try expectConverged(store, other)
  }

  @Test func changingAnIdIsADeleteAndAnInsert() throws {
    let game = Game(name: "Chess")
    let new = RecordName<Game>()
    try store.write { try game.insert($0) }
    try store.write { try $0.execute(sql: "UPDATE SBGame SET id = ?", arguments: [new]) }
    #expect(try store.history(of: game.id.name)?.isAlive == false)
    #expect(try store.history(of: new.name)?.isVisible == true)
    let other = try scratch.store("other")
    try store.sync(with: other)
    #expect(try other.read { try Game.fetchAll($0).map(\.id) } == [new])
    try expectConverged(store, other)
  }

  @Test func vacuumChangesNothing() throws {
    try store.write { db in for number in 1...50 { try Game(name: "\(number)").insert(db) } }
    try store.write { try $0.execute(sql: "DELETE FROM SBGame WHERE name < '3'") }
    let before = try store.summary()
    let plain = try DatabaseQueue(path: scratch.path("a.tally"))
    try plain.vacuum()
    try plain.close()
    #expect(try store.summary() == before)
    try store.write { try $0.execute(sql: "UPDATE SBGame SET rating = 1 WHERE name > '4'") }
    let other = try scratch.store("other")
    try store.sync(with: other)
    try expectConverged(store, other)
  }

  @Test func whatReplaceRemovesThroughAnIndexOfTheAppsIsDeleted() throws {
    let (chess, go) = (Game(name: "Chess"), Game(name: "Go"))
    let other = try scratch.store("other")
    try store.write { db in
      try db.execute(sql: "CREATE UNIQUE INDEX names ON SBGame(name)")
      try chess.insert(db)
      try go.insert(db)
    }
    try store.sync(with: other)
    // The row of the same name and the row of the same index entry go, one comes.
    try store.write {
      try $0.execute(sql: "INSERT OR REPLACE INTO SBGame(id, name, rating) VALUES(?, 'Go', 4)", arguments: [chess.id])
    }
    try store.sync(with: other)
    for replica in [store, other] {
      #expect(try replica.read { try Game.fetchAll($0) } == [Game(id: chess.id, name: "Go", rating: 4)])
    }
    #expect(try store.history(of: chess.id.name)?.deletes.isEmpty == true)
    let poker = Game(name: "Poker")
    try store.write { db in
      try poker.insert(db)
      try db.execute(sql: "UPDATE OR REPLACE SBGame SET name = 'Poker' WHERE name = 'Go'")
    }
    #expect(try store.history(of: poker.id.name) == nil)
    try store.write { try poker.insert($0, onConflict: .ignore) }
    #expect(try store.read { try Game.fetchCount($0) } == 1)
    try store.sync(with: other)
    try expectConverged(store, other)
  }

  @Test func movingARowOverAnotherIsADeleteAndAnUpdate() throws {
    let (chess, go) = (Game(name: "Chess", rating: 1), Game(name: "Go"))
    let (ann, bob) = (Person(name: "Ann"), Person(name: "Bob"))
    let other = try scratch.store("other")
    try store.write { db in
      for game in [chess, go] { try game.insert(db) }
      for person in [ann, bob] {
        try person.insert(db)
        try Game.players.insert(db, person.id, to: chess.id)
      }
    }
    try store.sync(with: other)
    try other.write { try $0.execute(sql: "UPDATE SBGame SET rating = 2 WHERE name = 'Go'") }
    try store.write { db in
      try db.execute(
        sql: "UPDATE OR REPLACE SBGame_players SET target = ? WHERE target = ?", arguments: [ann.id, bob.id])
    }
    try store.write {
      try $0.execute(sql: "UPDATE OR REPLACE SBGame SET id = ? WHERE name = 'Chess'", arguments: [go.id])
    }
    #expect(try store.sync(with: other).isConverged)
    for replica in [store, other] {
      let games = try replica.read { try Game.fetchAll($0) }
      #expect(games.map(\.name) == ["Chess"])
      #expect(games.map(\.id) == [go.id])
    }
    #expect(try store.history(of: go.id.name)?.deletes.isEmpty == true)
    try store.restore(chess.id)
    try store.sync(with: other)
    #expect(try other.read { try Game.players.members($0, of: chess.id) } == [ann.id])
    try expectConverged(store, other)
  }

  /// The triggers of an older version go when a file is opened: one that is gone, one that had another form, and one
  /// that there is no more.
  @Test func olderTriggersAreReplaced() throws {
    func triggers(_ store: Store) throws -> [String] {
      try store.read {
        try String.fetchAll(
          $0, sql: "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'SBGame' ORDER BY name")
      }
    }
    let wanted = try triggers(store)
    #expect(wanted.count == 3)
    try store.write { db in
      try db.execute(sql: "DROP TRIGGER tally_SBGame_insert")
      try db.execute(sql: "DROP TRIGGER tally_SBGame_update")
      for name in ["update", "move"] {
        try db.execute(sql: "CREATE TRIGGER tally_SBGame_\(name) BEFORE UPDATE ON SBGame BEGIN SELECT 1; END")
      }
    }
    let again = try scratch.store()
    try again.write { try Game(name: "Chess").insert($0) }
    #expect(try triggers(again) == wanted)
    try expectConverged(again)
  }
}
