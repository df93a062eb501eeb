import Foundation
import GRDB
import Tally
import TallyStore
import Testing

/// Counters of records whose states a store has lost, while their rows still show a number: what people have added
/// counts once, whoever brings it back.
@Suite struct LostNumberTests {
  static let schema = Schema([
    EntitySchema("Board", .text("name")),
    EntitySchema("Tile", .text("name"), .counter("score"), .counter("lives", default: 3)),
  ])

  /// Two devices that have both added to two tiles, of which one began with a number of its own.
  private func lab(_ path: CapturePath) throws -> Lab {
    let lab = try Lab(path, Self.schema)
    try lab.a.run("INSERT INTO Tile(id, name) VALUES('Tile|~|1', 'x')")
    try lab.a.run("INSERT INTO Tile(id, name, score, lives) VALUES('Tile|~|2', 'y', 10, 9)")
    try lab.sync()
    try lab.a.run("UPDATE Tile SET score = score + 3")
    try lab.b.run("UPDATE Tile SET score = score + 4, lives = lives - 1")
    try lab.sync()
    #expect(try Self.numbers(lab.a) == "1:7:2 2:17:8")
    return lab
  }

  private static func numbers(_ store: Store) throws -> String? {
    try Lab.text(
      store,
      "SELECT group_concat(substr(id, 8) || ':' || score || ':' || lives, ' ') FROM (SELECT * FROM Tile ORDER BY id)")
  }

  enum Mending: CaseIterable { case sync, rebuild, rebuildAndAdd }

  /// What of a store's own is gone: the states of all rows, or the numbers of the fields that totals stand in.
  private static let losses = ["DELETE FROM tally_extra", "DELETE FROM tally_field WHERE name GLOB '*+?*'"]

  /// Loses the states of all rows.
  private func lose(_ lab: Lab, _ name: String, _ mending: Mending, _ loss: String = losses[0]) throws -> Store {
    try lab.shell(name, loss)
    let store = try lab.reopened(name, Self.schema)
    #expect(try store.verify().problems != [])
    if mending == .sync { return store }
    _ = try store.rebuild()
    if mending == .rebuildAndAdd { try store.run("UPDATE Tile SET score = score + 1") }
    return store
  }

  @Test(arguments: CapturePath.allCases, Mending.allCases)
  func whatPeersStillHaveIsNotAddedTwice(_ path: CapturePath, _ mending: Mending) throws {
    for loss in Self.losses { try expectOnce(path, mending, loss) }
  }

  private func expectOnce(_ path: CapturePath, _ mending: Mending, _ loss: String) throws {
    let lab = try lab(path)
    try lab.a.close()
    let a = try lose(lab, "a", mending, loss)
    #expect(try Self.numbers(a) == (mending == .rebuildAndAdd ? "1:8:2 2:18:8" : "1:7:2 2:17:8"))
    try a.sync(with: lab.b)
    for store in [a, lab.b] {
      #expect(try Self.numbers(store) == (mending == .rebuildAndAdd ? "1:8:2 2:18:8" : "1:7:2 2:17:8"))
    }
    try expectConverged(a, lab.b)
    // What this device adds now is added to what it had added before.
    try a.run("UPDATE Tile SET score = score + 100")
    try a.sync(with: lab.b)
    #expect(try Self.numbers(lab.b) == (mending == .rebuildAndAdd ? "1:108:2 2:118:8" : "1:107:2 2:117:8"))
    try expectConverged(a, lab.b)
  }

  /// The peer has all but that, so the row says how much it is.
  @Test(arguments: CapturePath.allCases) func whatNobodyElseHadYetCounts(_ path: CapturePath) throws {
    let lab = try lab(path)
    try lab.a.run("UPDATE Tile SET score = score + 20")
    try lab.a.close()
    let a = try lose(lab, "a", .sync)
    try a.sync(with: lab.b)
    for store in [a, lab.b] { #expect(try Self.numbers(store) == "1:27:2 2:37:8") }
    try expectConverged(a, lab.b)
    try a.run("UPDATE Tile SET score = score + 1")
    try a.sync(with: lab.b)
    for store in [a, lab.b] { #expect(try Self.numbers(store) == "1:28:2 2:38:8") }
  }

  /// The first that it meets knows nothing of the records; the one that does comes later.
  @Test(arguments: CapturePath.allCases, Mending.allCases)
  func aPeerThatComesLaterHasTheSumAsWell(_ path: CapturePath, _ mending: Mending) throws {
    let lab = try lab(path)
    let c = try lab.reopened("c", Self.schema)
    try c.run("INSERT INTO Board(id, name) VALUES('Board|~|1', 'one')")
    try lab.a.close()
    let a = try lose(lab, "a", mending)
    try a.sync(with: c)
    #expect(try Self.numbers(c) == (mending == .rebuildAndAdd ? "1:8:2 2:18:8" : "1:7:2 2:17:8"))
    try c.run("UPDATE Tile SET score = score + 1000")
    try lab.b.run("UPDATE Tile SET score = score + 200")
    for _ in 0..<2 {
      try a.sync(with: lab.b)
      try a.sync(with: c)
      try lab.b.sync(with: c)
    }
    for store in [a, lab.b, c] {
      #expect(try Self.numbers(store) == (mending == .rebuildAndAdd ? "1:1208:2 2:1218:8" : "1:1207:2 2:1217:8"))
    }
    try expectConverged(a, lab.b, c)
  }

  /// Its rows are all that is left of the store's own states.
  @Test(arguments: CapturePath.allCases) func aTableThatWasMadeAgainWithoutClocksKeepsTheSum(_ path: CapturePath) throws
  {
    let lab = try lab(path)
    try lab.a.close()
    try lab.rebuild("a", "Tile", keepsClocks: false)
    let a = try lab.reopened("a", Self.schema)
    #expect(try Self.numbers(a) == "1:7:2 2:17:8")
    try a.run("UPDATE Tile SET score = score + 1")
    try lab.b.run("UPDATE Tile SET score = score + 10")
    try a.sync(with: lab.b)
    for store in [a, lab.b] { #expect(try Self.numbers(store) == "1:18:2 2:28:8") }
    try expectConverged(a, lab.b)
  }

  @Test(arguments: CapturePath.allCases) func aLoneDeviceKeepsItsNumbers(_ path: CapturePath) throws {
    let lab = try lab(path)
    try lab.a.close()
    var a = try lose(lab, "a", .rebuildAndAdd)
    #expect(try a.verify().problems == [])
    try a.run("DELETE FROM Tile WHERE id = 'Tile|~|1'")
    try a.restore(AnyRecordName("Tile|~|1"))
    #expect(try Self.numbers(a) == "1:8:2 2:18:8")
    try a.run("UPDATE Tile SET score = score + 1")
    try a.close()
    a = try lab.reopened("a", Self.schema)
    #expect(try Self.numbers(a) == "1:9:2 2:19:8")
    #expect(try a.verify().problems == [])
    // A set says what it says, whatever is known.
    try a.write { db in try Self.schema.set(db, AnyRecordName("Tile|~|2"), "score", to: .integer(5)) }
    #expect(try Self.numbers(a) == "1:9:2 2:5:8")
    #expect(try a.verify().problems == [])
  }

  /// Nobody has noted that it went, so what this device had added to it is known to others alone.
  @Test(arguments: CapturePath.allCases) func aRowThatVanishedTakesNothingFromWhatPeersHave(_ path: CapturePath) throws
  {
    let lab = try lab(path)
    let replica = try lab.a.summary().replica
    try lab.a.close()
    try lab.rebuild("a", "Tile")
    try lab.shell("a", "DELETE FROM Tile WHERE id = 'Tile|~|1'")
    let a = try lab.reopened("a", Self.schema)
    #expect(try a.summary().replica != replica)
    try a.restore(AnyRecordName("Tile|~|1"))
    try a.run("UPDATE Tile SET score = score + 1 WHERE id = 'Tile|~|1'")
    try a.sync(with: lab.b)
    for store in [a, lab.b] { #expect(try Self.numbers(store) == "1:8:2 2:17:8") }
    try expectConverged(a, lab.b)
  }

  /// The difference to another version of a seed is nobody's addition.
  @Test(arguments: CapturePath.allCases) func aLaterSeedIsNotTakenBack(_ path: CapturePath) throws {
    func seed(_ store: Store, _ version: Int, _ score: Int64) throws {
      try store.seed(
        SeedSet("tiles", version: version, records: [SeedRecord("one", type: "Tile", ["score": .integer(score)])]))
    }
    let lab = try Lab(path, Self.schema)
    for store in [lab.a, lab.b] { try seed(store, 1, 5) }
    try lab.sync()
    try lab.a.run("INSERT INTO Board(id, name) VALUES('Board|~|1', 'one')")
    try lab.a.close()
    let a = try lose(lab, "a", .sync)
    try seed(lab.b, 2, 50)
    try a.sync(with: lab.b)
    for store in [a, lab.b] { #expect(try Lab.text(store, "SELECT score FROM Tile") == "50") }
    try expectConverged(a, lab.b)
  }

  enum Writing: CaseIterable { case nothing, adding, seeding, restoring }

  /// A seeded record begins with no transaction, so what was edited in it says that a peer knows its number.
  @Test(arguments: CapturePath.allCases, Writing.allCases)
  func aSeededNumberComesBackOnce(_ path: CapturePath, _ writing: Writing) throws {
    for deleteWins in [false, true] {
      let schema = Schema([EntitySchema("Pawn", deleteWins: deleteWins, .counter("score"), .text("name"))])
      let record = SeedRecord("one", type: "Pawn", ["name": .text("first")])
      let set = SeedSet("pawns", version: 1, records: [record])
      let lab = try Lab(path, schema)
      for store in [lab.a, lab.b] { try store.seed(set) }
      try lab.a.run("UPDATE Pawn SET score = score + 3")
      try lab.b.run("UPDATE Pawn SET score = score + 4")
      try lab.sync()
      try lab.a.close()
      try lab.rebuild("a", "Pawn", keepsClocks: false)
      let a = try lab.reopened("a", schema)
      switch writing {
      case .nothing: break
      case .adding: try a.run("UPDATE Pawn SET score = score + 1")
      case .seeding:
        try a.seed(SeedSet("pawns", version: 2, records: [record]))
        try a.run("UPDATE Pawn SET score = score + 1")
      case .restoring:
        // Where deletes win, another existence brings the record back, with the number as it is.
        guard !deleteWins else { continue }
        let name = try #require(try Lab.text(a, "SELECT id FROM Pawn"))
        try a.run("DELETE FROM Pawn")
        try a.restore(AnyRecordName(name))
      }
      let added = [Writing.adding, .seeding].contains(writing) ? 1 : 0
      #expect(try Lab.text(a, "SELECT score || name FROM Pawn") == "\(7 + added)first")
      try a.sync(with: lab.b)
      for store in [a, lab.b] {
        #expect(try Lab.text(store, "SELECT score || name FROM Pawn") == "\(7 + added)first")
        #expect(try store.verify().problems == [])
      }
      try expectConverged(a, lab.b)
    }
  }

  /// What is brought back is what was there: a number that stands in for what a peer knows.
  @Test(arguments: CapturePath.allCases, [false, true])
  func aRestoreLeavesItToPeersWhatTheNumberIs(_ path: CapturePath, _ adds: Bool) throws {
    let lab = try lab(path)
    try lab.a.close()
    let a = try lose(lab, "a", .rebuild)
    for id in ["Tile|~|1", "Tile|~|2"] {
      if adds { try a.run("UPDATE Tile SET score = score + 1 WHERE id = '\(id)'") }
      try a.run("DELETE FROM Tile WHERE id = '\(id)'")
      try a.restore(AnyRecordName(id))
    }
    let all = adds ? "1:8:2 2:18:8" : "1:7:2 2:17:8"
    #expect(try Self.numbers(a) == all)
    #expect(try a.verify().problems == [])
    try a.sync(with: lab.b)
    for store in [a, lab.b] { #expect(try Self.numbers(store) == all) }
    try expectConverged(a, lab.b)
  }

  /// Only another existence brings it back, and beside that nothing may stand in: the restore says the number, and what
  /// a peer has still counts.
  @Test(arguments: CapturePath.allCases) func whereDeletesWinARestoreSetsTheNumber(_ path: CapturePath) throws {
    let schema = Schema([EntitySchema("Tile", deleteWins: true, .text("name"), .counter("score"))])
    let lab = try Lab(path, schema)
    try lab.a.run("INSERT INTO Tile(id, name, score) VALUES('Tile|~|1', 'x', 3)")
    try lab.sync()
    try lab.b.run("UPDATE Tile SET score = score + 4")
    try lab.sync()
    try lab.a.close()
    try lab.shell("a", Self.losses[0])
    let a = try lab.reopened("a", schema)
    _ = try a.rebuild()
    try a.run("DELETE FROM Tile")
    try a.restore(AnyRecordName("Tile|~|1"))
    #expect(try Lab.text(a, "SELECT score FROM Tile") == "7")
    try a.sync(with: lab.b)
    for store in [a, lab.b] {
      // Seven that were set, and the four of the peer's total, which the restore had not seen.
      #expect(try Lab.text(store, "SELECT score FROM Tile") == "11")
      #expect(try store.verify().problems == [])
    }
    try expectConverged(a, lab.b)
  }
}
