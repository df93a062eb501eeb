import Foundation
import GRDB
import Tally
import TallyCRDT
import Testing

/// Two replicas work apart and meet again.
@Suite struct ConvergenceScenarios {
  @Test func editsOfDifferentFieldsBothStay() throws {
    let scratch = try Scratch()
    let (phone, tablet) = (try scratch.store("phone"), try scratch.store("tablet"))
    var game = Game(name: "Chess", rating: 3)
    try phone.write { try game.insert($0) }
    #expect(try phone.sync(with: tablet).isConverged)
    try phone.write { db in
      game.name = "Blitz"
      try game.update(db)
    }
    try tablet.write { try $0.execute(sql: "UPDATE SBGame SET rating = 5") }
    #expect(try phone.sync(with: tablet).isConverged)
    try expectConverged(phone, tablet)
    for store in [phone, tablet] {
      let found = try store.read { try Game.find($0, key: game.id) }
      #expect(found.name == "Blitz")
      #expect(found.rating == 5)
    }
  }

  /// A game that only its member keeps goes when the member begins a new life, which has no memberships.
  @Test func newLifeOfTheMemberThatKeptADeletedRecordLetsItGo() throws {
    let scratch = try Scratch()
    let (phone, tablet) = (try scratch.store("phone"), try scratch.store("tablet"))
    let (ann, chess) = (Person(name: "Ann"), Game(name: "Chess"))
    try phone.write { db in
      try ann.insert(db)
      try chess.insert(db)
    }
    #expect(try phone.sync(with: tablet).isConverged)
    try tablet.write { _ = try chess.delete($0) }
    try phone.write { try Game.players.insert($0, ann.id, to: chess.id) }
    #expect(try phone.sync(with: tablet).isConverged)
    #expect(try phone.read { try Game.fetchCount($0) } == 1)
    try phone.write { _ = try ann.delete($0) }
    try phone.write { try ann.insert($0) }
    #expect(try phone.read { try Game.fetchCount($0) } == 0)
    #expect(try phone.sync(with: tablet).isConverged)
    try expectConverged(phone, tablet)
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
      try Game.players.insert(db, ann.id, to: chess.id)
    }
    try phone.sync(with: tablet)
    try phone.write { _ = try chess.delete($0) }
    #expect(try phone.read { try Match.fetchCount($0) + Score.fetchCount($0) } == 0)
    #expect(try phone.verify().problems == [])
    try tablet.write { db in
      try db.execute(sql: "UPDATE SBScore SET points = 9")
    }
    #expect(try phone.sync(with: tablet).isConverged)
    try expectConverged(phone, tablet)
    #expect(try phone.read { try Score.fetchOne($0)?.points } == 9)
    #expect(try phone.read { try Game.players.members($0, of: chess.id) } == [ann.id])
    try tablet.write { _ = try Game.deleteAll($0) }
    #expect(try phone.sync(with: tablet).isConverged)
    try expectConverged(phone, tablet)
    #expect(try phone.read { try Score.fetchCount($0) } == 0)
    try phone.restore(match.id)
    #expect(try phone.read { try Game.fetchCount($0) } == 1)
    #expect(try phone.read { try Match.fetchCount($0) } == 1)
  }

  @Test func restoringAChildBringsBackEveryOwnerAboveIt() throws {
    func entity(_ type: String, deleteWins: Bool, owner: String?) -> EntitySchema {
      var entity = EntitySchema(type: type, fields: [.init("name", .text)], deleteWins: deleteWins)
      if let owner { entity.references = [.init("owner", to: owner, onDelete: .cascade)] }
      return entity
    }
    let schema = Schema([
      entity("House", deleteWins: true, owner: nil), entity("Floor", deleteWins: false, owner: "House"),
      entity("Room", deleteWins: true, owner: "Floor"), entity("Chair", deleteWins: false, owner: "Room"),
    ])
    let scratch = try Scratch()
    let stores = try ["phone", "tablet"].map { try scratch.store($0, schema: schema) }
    try stores[0].write { db in
      var owner: String?
      for type in ["House", "Floor", "Room", "Chair"] {
        let columns = owner == nil ? "" : ", owner"
        try db.execute(
          sql: "INSERT INTO \(type)(id, name\(columns)) VALUES(?, 'x'\(owner == nil ? "" : ", ?"))",
          arguments: StatementArguments(["\(type)|~|a"] + (owner.map { [$0] } ?? [])))
        owner = "\(type)|~|a"
      }
    }
    try stores[0].sync(with: stores[1])
    try stores[0].write { try $0.execute(sql: "DELETE FROM Room") }
    try stores[0].write { try $0.execute(sql: "DELETE FROM House") }
    func count(_ store: Store) throws -> Int {
      try store.read { db in
        try ["House", "Floor", "Room", "Chair"].reduce(0) {
          try $0 + (Int.fetchOne(db, sql: "SELECT count(*) FROM \($1)") ?? 0)
        }
      }
    }
    #expect(try count(stores[0]) == 0)
    let before = try stores[0].vector
    let dot = try #require(try stores[0].restore(AnyRecordName("Chair|~|a")))
    #expect(try stores[0].vector == before.merging(StateVector([(dot.replica, dot.sequence)])))
    try stores[0].sync(with: stores[1])
    for store in stores { #expect(try count(store) == 4) }
    try expectConverged(stores[0], stores[1])
  }
}
