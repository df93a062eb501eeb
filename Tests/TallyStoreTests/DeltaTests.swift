import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyWire
import Testing

@Suite struct DeltaTests {
  let scratch: Scratch
  let here: Store
  let there: Store

  init() throws {
    scratch = try Scratch()
    here = try scratch.store("here")
    there = try scratch.store("there")
    try here.write { db in for number in 1...20 { try Game(name: "Game \(number)", rating: 1).insert(db) } }
  }

  @Test func applyingTwiceChangesNothing() throws {
    let delta = try here.delta()
    #expect(try there.apply(delta).changes == 20)
    let before = try there.summary()
    #expect(try there.apply(delta).changes == 0)
    #expect(try there.apply(delta, isRepair: true).changes == 0)
    #expect(try there.summary() == before)
    try expectConverged(here, there)
  }

  /// The limit counts what blocks come to, before any of them is decompressed, and the caller may raise it.
  @Test func aDeltaAboveTheLimitIsRefusedAndMayBeAllowed() throws {
    let delta = try here.delta()
    let size = try {
      var reader = try DeltaReader(delta)
      while try reader.nextBlock() != nil {}
      return reader.blockByteCount
    }()
    let before = try there.summary()
    let error = #expect(throws: WireError.self) { try there.apply(delta, byteLimit: size - 1) }
    #expect(error?.code == .limitExceeded)
    #expect(try there.summary() == before)
    #expect(try there.apply(delta, byteLimit: size).changes == 20)
    try expectConverged(here, there)
  }

  @Test func aDeltaWhoseBaseIsMissingIsRefusedWithTheVectorToAskFor() throws {
    let early = try here.vector
    try here.write { try $0.execute(sql: "UPDATE SBGame SET rating = 2") }
    let delta = try here.delta(since: early)
    let error = #expect(throws: StoreError.self) { try there.apply(delta) }
    #expect(error?.code == .baseNotCovered)
    #expect(error?.vector == StateVector())
    try there.apply(try here.delta(since: error?.vector ?? early))
    try expectConverged(here, there)
  }

  /// `delta` takes rows with one stamp to the block as they are; `blocks` makes states of all.
  @Test func rowsAndTheirStatesGiveTheSameBytes() throws {
    try here.write { db in
      let ann = Person(name: "Ann")
      try ann.insert(db)
      var odd = Game(name: "Käse \u{1F9C0}", rating: 0, isTeam: true, rules: ["", "b"], author: ann.id)
      (odd.icon, odd.code) = (Data([0, 255]), UUID())
      try odd.insert(db)
      try Game.players.insert(db, ann.id, to: odd.id)
      try Game(name: "", rating: -1.5, icon: Data()).insert(db)
      try Game().insert(db)
      for key in ["chess", "386C1919-5F25-4BE2-975F-5B34506C51DB"] {
        try db.execute(
          sql: "INSERT INTO SBGame(id, name) VALUES(?, 'a key that is no UUID')", arguments: ["SBGame|~|\(key)"])
      }
    }
    try here.write { try $0.execute(sql: "UPDATE SBGame SET rating = 5 WHERE name IN ('Game 3', 'Game 4')") }
    try here.write { try $0.execute(sql: "DELETE FROM SBGame WHERE name = 'Game 5'") }
    var reader = try DeltaReader(try here.delta())
    let (header, blocks) = try here.blocks(since: StateVector())
    let replicas = header.target.entries.map(\.replica)
    #expect(blocks.count == 1)
    #expect(try reader.nextBlock()?.encoded(replicas: replicas) == blocks.first?.encoded(replicas: replicas))
    #expect(try reader.nextBlock() == nil)
    try there.apply(try here.delta())
    try expectConverged(here, there)
  }

  @Test func oneChangeIsSmallInAStoreOfAnySize() throws {
    try there.apply(try here.delta())
    try here.write { try $0.execute(sql: "UPDATE SBGame SET rating = 7 WHERE name = 'Game 3'") }
    let delta = try here.delta(since: try there.vector)
    #expect(delta.count < 130)
    #expect(try there.apply(delta).changes == 1)
    try expectConverged(here, there)
  }

  @Test func everyDamagedDeltaIsRefusedAndChangesNothing() throws {
    let delta = try here.delta()
    let before = try there.summary()
    for index in stride(from: 0, to: delta.count, by: max(1, delta.count / 150)) {
      var damaged = delta
      damaged[index] ^= 1 << UInt8(index % 8)
      #expect(throws: (any Error).self) { try there.apply(damaged) }
      #expect(throws: (any Error).self) { try there.apply(Array(delta[..<index])) }
    }
    #expect(try there.summary() == before)
    #expect(try there.read { try Game.fetchCount($0) } == 0)
    try expectConverged(there)
  }

  @Test func contentThatWasChangedBehindTallysBackIsFound() throws {
    try here.sync(with: there)
    // Somebody edits one copy and removes the trace that the capture triggers left.
    let queue = try DatabaseQueue(path: scratch.path("there"))
    try queue.write { db in
      try db.execute(sql: "UPDATE SBGame SET rating = 99 WHERE name = 'Game 4'")
      try db.execute(sql: "DELETE FROM tally_pending")
    }
    try queue.close()
    #expect(try !there.verify().isSound)
  }

  @Test func aRecordLargerThanABlockTravelsInParts() throws {
    let schema = Schema([EntitySchema("Large", .blob("a"), .blob("b"), .blob("c"), .text("d", default: "x"))])
    let stores = try ["first", "second", "third"].map { try scratch.store($0, schema: schema) }
    let blob = "zeroblob(\(WireLimits.targetBlockBytes * 3 / 4))"
    try stores[0].write { try $0.execute(sql: "INSERT INTO Large(id, a, b) VALUES('Large|~|a', \(blob), x'02')") }
    try stores[1].write { try $0.execute(sql: "INSERT INTO Large(id, b, c) VALUES('Large|~|a', x'01', \(blob))") }
    try stores[0].sync(with: stores[1])
    try stores[0].write { try $0.execute(sql: "DELETE FROM Large") }
    try stores[1].write { try $0.execute(sql: "UPDATE Large SET d = 'y'") }
    try stores[0].sync(with: stores[1])
    var reader = try DeltaReader(try stores[0].delta())
    var blocks = 0
    while try reader.nextBlock() != nil { blocks += 1 }
    #expect(blocks > 1)
    try stores[2].sync(with: stores[0])
    try expectConverged(stores[0], stores[1], stores[2])
  }

  @Test func aRowThatVanishedBehindTallysBackIsFound() throws {
    let queue = try DatabaseQueue(path: scratch.path("here"))
    try queue.write { db in
      try db.execute(sql: "DELETE FROM SBGame WHERE name = 'Game 4'")
      try db.execute(sql: "DELETE FROM tally_pending")
    }
    try queue.close()
    #expect(try here.verify().problems.contains { $0.contains("of which nothing is stored") })
  }

  @Test func aLateReplicaEqualsAnOldHand() throws {
    try here.sync(with: there)
    for round in 1...5 {
      try here.write { try $0.execute(sql: "UPDATE SBGame SET rating = ? WHERE name < 'Game 15'", arguments: [round]) }
      try there.write { try $0.execute(sql: "DELETE FROM SBGame WHERE name = ?", arguments: ["Game \(round)"]) }
      try here.sync(with: there)
    }
    let late = try scratch.store("late")
    try late.sync(with: here)
    try expectConverged(late, here, there)
  }

  /// A vector that claims too much, as a damaged peer may have: what it wrongly covers can still come, and go on.
  @Test func cellsThatTheVectorWronglyCoversAreListedOnceTheyCome() throws {
    let summary = try here.summary()
    var empty: [UInt8] = []
    let header = DeltaHeader(base: StateVector(), target: summary.vector)
    var writer = try DeltaWriter(header: header) { empty += $0 }
    try writer.finish()
    try there.apply(empty)
    try here.write { try $0.execute(sql: "UPDATE SBGame SET rating = 2") }
    try there.apply(try here.delta())
    #expect(try there.verify().problems == [])
    try expectConverged(here, there)
    let late = try scratch.store("late")
    try late.apply(try there.delta(since: StateVector()))
    try expectConverged(here, late)
  }
}
