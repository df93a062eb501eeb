import Foundation
import GRDB
import Tally
import Testing

/// Two replicas work apart and meet again.
@Suite struct ConvergenceScenarios {
  @Test func editsOfDifferentFieldsBothStay() throws {
    let scratch = try Scratch()
    let (phone, tablet) = (try scratch.store("phone"), try scratch.store("tablet"))
    var game = Game(name: "Chess", rating: 3)
    try phone.write { try game.insert($0) }
    #expect(try synchronize(phone, tablet).isConverged)
    try phone.write { db in
      game.name = "Blitz"
      try game.update(db)
    }
    try tablet.write { try $0.execute(sql: "UPDATE SBGame SET rating = 5") }
    #expect(try synchronize(phone, tablet).isConverged)
    try expectConverged(phone, tablet)
    for store in [phone, tablet] {
      let found = try store.read { try Game.find($0, key: game.id) }
      #expect(found.name == "Blitz")
      #expect(found.rating == 5)
    }
  }

  @Test func concurrentEditRevivesADeletedOwnerWithItsChildren() throws {
    let scratch = try Scratch()
    let (phone, tablet) = (try scratch.store("phone"), try scratch.store("tablet"))
    let (ann, chess) = (Person(name: "Ann"), Game(name: "Chess"))
    let match = Match(place: "Home", game: chess.id)
    let score = Score(points: 1, match: match.id, person: ann.id)
    try phone.write { db in
      try ann.insert(db)
      try chess.insert(db)
      try match.insert(db)
      try score.insert(db)
      try Game.players.insert(ann.id, to: chess.id, in: db)
    }
    try synchronize(phone, tablet)
    try phone.write { _ = try chess.delete($0) }
    #expect(try phone.read { try Match.fetchCount($0) + Score.fetchCount($0) } == 0)
    #expect(try phone.verify().problems == [])
    try tablet.write { db in
      try db.execute(sql: "UPDATE SBScore SET points = 9")
    }
    #expect(try synchronize(phone, tablet).isConverged)
    try expectConverged(phone, tablet)
    #expect(try phone.read { try Score.fetchOne($0)?.points } == 9)
    #expect(try phone.read { try Game.players.members(of: chess.id, in: $0) } == [ann.id])
    try tablet.write { _ = try Game.deleteAll($0) }
    #expect(try synchronize(phone, tablet).isConverged)
    try expectConverged(phone, tablet)
    #expect(try phone.read { try Score.fetchCount($0) } == 0)
    try phone.restore(match.id)
    #expect(try phone.read { try Game.fetchCount($0) } == 1)
    #expect(try phone.read { try Match.fetchCount($0) } == 1)
  }
}
