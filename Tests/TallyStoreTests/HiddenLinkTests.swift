import Foundation
import GRDB
import Synchronization
import Tally
import TallyCRDT
import TallyRecovery
import TallyTesting
import TallyWire
import TestEffort
import Testing

@testable import TallyStore

/// Links that the app does not see, as everything that reads and writes them meets them.
@Suite struct HiddenLinkTests {
  private static let uuid = "386c1919-5f25-4be2-975f-5b34506c51db"
  private static let keys = [uuid, "b", uuid.uppercased()]

  private static func count(_ store: Store, _ from: String) throws -> Int {
    try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(from)") ?? 0 }
  }

  private static func dump(_ store: Store) throws -> [String] {
    var lines: [String] = []
    try store.dump(.canonical) { lines.append($0) }
    return lines
  }

  /// Both have three games with the same three players: nine links.
  private static func linked(_ path: CapturePath) throws -> Lab {
    let lab = try Lab(path)
    for key in keys {
      try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|\(key)', 'one')")
      try lab.a.run("INSERT INTO G(id, name) VALUES('G|~|\(key)', 'two')")
    }
    try lab.a.run("INSERT INTO G_players(source, target) SELECT G.id, P.id FROM G, P")
    try lab.sync()
    try lab.expectEqual()
    #expect(try count(lab.b, "G_players") == 9)
    return lab
  }

  /// Both hide nine links: one player is deleted, one game, and one member was removed before.
  private static func hiding(_ path: CapturePath) throws -> Lab {
    let lab = try linked(path)
    try lab.a.run("DELETE FROM G_players WHERE source = 'G|~|b' AND target = 'P|~|b'")
    try lab.sync()
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|\(uuid)'")
    try lab.b.run("DELETE FROM G WHERE id = 'G|~|\(uuid.uppercased())'")
    try lab.sync()
    try lab.expectEqual()
    for store in [lab.a, lab.b] {
      #expect(try count(store, "tally_cut") == 6 && count(store, "G_players") == 3)
      #expect(try count(store, "tally_hidden") == 2 && count(store, "tally_wait") == 0)
    }
    return lab
  }

  // MARK: Size

  /// What a link takes in the file whose source or target was deleted, in bytes: its state, and what finds it.
  @Test(arguments: Effort.sample(["G", "P"], 1)) func aHiddenLinkTakesFewBytes(deleted: String) throws {
    let scratch = try Scratch()
    let store = try scratch.store("a", schema: Lab.schema)
    var random = SplitMix64(seed: 24)
    func uuid() -> String { UUID(bits: random.next(), random.next()).uuidString.lowercased() }
    let count = Effort.isLong ? 20_000 : 4_000
    for _ in 0..<20 {
      let players = (0..<50).map { _ in "P|~|\(uuid())" }
      try store.write { db in
        for player in players { try db.execute(sql: "INSERT INTO P(id) VALUES(?)", arguments: [player]) }
        for number in 0..<count / 20 {
          let game = "G|~|\(uuid())"
          try db.execute(sql: "INSERT INTO G(id) VALUES(?)", arguments: [game])
          try db.execute(
            sql: "INSERT INTO G_players(source, target) VALUES(?, ?)", arguments: [game, players[number % 50]])
        }
      }
    }
    let before = try Self.linkBytes(store)
    // A few at a time, in no order.
    for digit in "0123456789abcdef" {
      try store.run("DELETE FROM \(deleted) WHERE substr(id, 8, 1) = '\(digit)'")
    }
    #expect(try Self.count(store, deleted) == 0 && Self.count(store, "G_players") == 0)
    let bytes = try Double(Self.linkBytes(store) - before) / Double(count)
    #expect(bytes > 0 && bytes <= 115, "\(bytes)")
    #expect(try Self.count(store, "tally_cut") == count && Self.count(store, "tally_wait") == 0)
    #expect(try store.verify().problems == [])
  }

  private static func linkBytes(_ store: Store) throws -> Int {
    try store.read { db in
      try Int.fetchOne(
        db,
        sql: "SELECT sum(pgsize) FROM dbstat WHERE name IN ('tally_cut', 'tally_cut_target', 'tally_wait')") ?? 0
    }
  }

  // MARK: Hiding and showing

  @Test(arguments: CapturePath.allCases) func linksAreHiddenAndShownWithTheirEnds(_ path: CapturePath) throws {
    let lab = try Self.linked(path)
    let ends = try Self.keys.flatMap { [try AnyRecordName("P|~|\($0)"), try AnyRecordName("G|~|\($0)")] }
    for (place, name) in ends.enumerated() {
      let (deleter, restorer) = place % 2 == 0 ? (lab.a, lab.b) : (lab.b, lab.a)
      try deleter.run("DELETE FROM \(name.type) WHERE id = '\(name.text)'")
      #expect(try Self.count(deleter, "G_players") == 6 && Self.count(deleter, "tally_cut") == 3)
      try lab.sync()
      try lab.expectEqual()
      #expect(try Self.count(restorer, "tally_cut") == 3 && Self.count(restorer, "tally_wait") == 0)
      try restorer.restore(name)
      #expect(try Self.count(restorer, "G_players") == 9 && Self.count(restorer, "tally_cut") == 0)
      try lab.sync()
      try lab.expectEqual()
    }
    // With both ends gone a link comes back with the second of them.
    for first in [0, 1] {
      try lab.a.run("DELETE FROM P", "DELETE FROM G")
      #expect(try Self.count(lab.a, "tally_cut") == 9)
      for name in ends where (name.type == "P") == (first == 0) { try lab.a.restore(name) }
      #expect(try Self.count(lab.a, "tally_cut") == 9 && Self.count(lab.a, "G_players") == 0)
      for name in ends where (name.type == "P") != (first == 0) { try lab.a.restore(name) }
      #expect(try Self.count(lab.a, "tally_cut") == 0 && Self.count(lab.a, "G_players") == 9)
      try lab.sync()
      try lab.expectEqual()
    }
  }

  /// A link that is there before its target is shown once that comes, inserted here or by another device, although
  /// nothing else in the file is hidden or waits.
  @Test(arguments: CapturePath.allCases) func aLinkThatIsThereFirstIsShownWithItsEnd(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO G(id, name) VALUES('G|~|g', 'one')")
    for key in Self.keys {
      try lab.shell("a", "INSERT INTO G_players(source, target) VALUES('G|~|g', 'P|~|\(key)')")
    }
    try lab.sync()
    for store in [lab.a, lab.b] {
      #expect(try Self.count(store, "tally_cut") == 3 && Self.count(store, "G_players") == 0)
      #expect(try Self.count(store, "tally_hidden") == 0 && Self.count(store, "tally_wait") == 0)
    }
    for (store, key) in zip([lab.a, lab.b, lab.a], Self.keys) {
      try store.run("INSERT INTO P(id, name) VALUES('P|~|\(key)', 'two')")
      #expect(try Lab.text(store, "SELECT 1 FROM G_players WHERE target = 'P|~|\(key)'") == "1")
      try lab.sync()
      try lab.expectEqual()
    }
    #expect(try Self.count(lab.a, "tally_cut") == 0 && Self.count(lab.b, "G_players") == 3)
  }

  /// A link that was removed stays hidden, whatever becomes of its ends, until it is added again.
  @Test(arguments: CapturePath.allCases) func aRemovedLinkStaysHidden(_ path: CapturePath) throws {
    let lab = try Self.linked(path)
    try lab.a.run("DELETE FROM G_players WHERE source = 'G|~|b'")
    #expect(try Self.count(lab.a, "tally_cut") == 3)
    try lab.a.run("DELETE FROM P", "DELETE FROM G")
    #expect(try Self.count(lab.a, "tally_cut") == 9)
    for key in Self.keys {
      try lab.a.restore(AnyRecordName("P|~|\(key)"))
      try lab.a.restore(AnyRecordName("G|~|\(key)"))
    }
    #expect(try Self.count(lab.a, "G_players") == 6 && Self.count(lab.a, "tally_cut") == 3)
    try lab.sync()
    try lab.b.run("INSERT INTO G_players(source, target) VALUES('G|~|b', 'P|~|b')")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Self.count(lab.a, "G_players") == 7 && Self.count(lab.a, "tally_cut") == 2)
  }

  /// A record that begins a new life has no members, and is one of nothing, not even of itself.
  @Test(arguments: CapturePath.allCases) func aNewLifeEndsHiddenLinks(_ path: CapturePath) throws {
    let schema = Schema([EntitySchema("F", .text("name"), .toMany("friends", to: "F"))])
    let lab = try Lab(path, schema)
    for key in Self.keys { try lab.a.run("INSERT INTO F(id, name) VALUES('F|~|\(key)', 'one')") }
    try lab.a.run("INSERT INTO F_friends(source, target) SELECT one.id, other.id FROM F AS one, F AS other")
    try lab.sync()
    try lab.a.run("DELETE FROM F WHERE id = 'F|~|b'")
    #expect(try Self.count(lab.a, "F_friends") == 4 && Self.count(lab.a, "tally_cut") == 5)
    try lab.a.run("INSERT INTO F(id, name) VALUES('F|~|b', 'again')")
    try lab.sync()
    try lab.expectEqual(["F", "F_friends"])
    #expect(try Self.count(lab.b, "F_friends") == 4 && Self.count(lab.b, "tally_cut") == 5)
    let lines = try Self.dump(lab.b).filter { $0.contains("\"link\"") && !$0.contains("\"removed\"") }
    #expect(lines.count == 4)
  }

  // MARK: Reading

  /// Nothing of what a store says differs by whether it shows what it says.
  @Test(arguments: CapturePath.allCases) func whatReadsLinksReadsHiddenOnes(_ path: CapturePath) throws {
    let lab = try Self.hiding(path)
    let lines = try Self.dump(lab.a)
    #expect(try lines == Self.dump(lab.b))
    let links = lines.filter { $0.contains("\"link\"") }
    #expect(links.count == 9)
    #expect(try lab.a.status().counts.first { $0.type == "G.players" }?.hidden == 6)
    let ends = try links.map { line in
      try #require(line.firstMatch(of: /"source":"([^"]*)","tags":.*"target":"([^"]*)"/)).output
    }
    let keys = ends.map { "\($0.1)\n\($0.2)" }
    #expect(keys == keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    // As a whole, and from a file that is opened anew.
    try lab.a.close()
    let again = try lab.reopened("a")
    let third = try Store(inMemory: Lab.schema, options: Lab.options(path))
    try third.apply(again.delta())
    try expectConverged(again, third, lab.b)
    #expect(try Self.dump(third) == lines)
    #expect(try Self.count(third, "tally_cut") == 6)
  }

  /// Whoever does not know a relationship keeps its links hidden and hands them on; they show once the schema has it.
  @Test(arguments: CapturePath.allCases) func linksOfAnUnknownRelationshipAreKept(_ path: CapturePath) throws {
    let lab = try Self.linked(path)
    let older = Schema([EntitySchema("G", .text("name"))])
    let store = try lab.scratch.store("older", schema: older, options: Lab.options(path))
    try store.apply(lab.a.delta())
    #expect(try Self.count(store, "tally_cut") == 9 && Self.count(store, "tally_wait") == 0)
    #expect(try Self.dump(store).filter { $0.contains("\"link\"") }.count == 9)
    #expect(try store.verify().problems == [])
    let third = try Store(inMemory: Lab.schema, options: Lab.options(path))
    try third.apply(store.delta())
    try expectConverged(lab.a, third)
    #expect(try Self.count(third, "G_players") == 9)
    try store.close()
    let newer = try lab.reopened("older")
    try expectConverged(newer, third)
    #expect(try Self.count(newer, "G_players") == 9 && Self.count(newer, "tally_cut") == 0)
  }

  /// Records that are linked to nothing are written without a look at the links of others.
  @Test func recordsWithoutRelationshipsCostWhatTheyDid() throws {
    func steps(_ lab: Lab) throws -> [Int] {
      let meter = StepMeter()
      try lab.a.write { db in meter.listen(to: db) }
      var result: [Int] = []
      for round in 0..<2 {
        result = []
        for sql in [
          "INSERT INTO F(id, name) VALUES('F|~|\(round)', 'one')",
          "UPDATE F SET name = 'two' WHERE id = 'F|~|\(round)'", "DELETE FROM F WHERE id = 'F|~|\(round)'",
        ] {
          meter.reset()
          try lab.a.run(sql)
          result.append(meter.steps)
        }
      }
      return result
    }
    let (few, many) = (try Lab(.hook), try Lab(.hook))
    for (lab, count) in [(few, 1), (many, 500)] {
      try lab.a.run("INSERT INTO G(id) VALUES('G|~|g')")
      try lab.a.write { db in
        for number in 0..<count {
          try db.execute(sql: "INSERT INTO P(id) VALUES(?)", arguments: ["P|~|\(number)"])
          try db.execute(sql: "INSERT INTO G_players(source, target) VALUES('G|~|g', ?)", arguments: ["P|~|\(number)"])
        }
      }
      try lab.a.run("DELETE FROM G")
      #expect(try Self.count(lab.a, "tally_cut") == count)
    }
    #expect(try steps(few) == steps(many))
  }

  // MARK: Damage

  private static let damages = [
    "UPDATE tally_cut SET body = x'09'", "DELETE FROM tally_cut WHERE typeof(target) = 'blob'", "DELETE FROM tally_cut",
    "UPDATE tally_cut SET source = x'00' WHERE source = 'b' AND target = 'b'",
    "UPDATE tally_cut SET target = 'c' WHERE target = 'b'",
    "UPDATE tally_cut SET body = CAST(substr(body, 1, 1) || x'010203' || substr(body, 5) AS BLOB)",
    "DROP TABLE tally_cut", "UPDATE tally_cut SET kind = kind + 70",
    "INSERT INTO tally_cut SELECT kind, 'b', '\(uuid.uppercased())', body FROM tally_cut LIMIT 1",
  ]

  /// Whatever becomes of hidden links in a file, it is noticed, and the next sync puts it right.
  @Test(arguments: damages) func damagedLinksAreHealed(_ sql: String) throws {
    let lab = try Self.hiding(.hook)
    try lab.shell("b", sql)
    try lab.b.close()
    let b = try lab.reopened("b")
    #expect(try b.verify().problems != [])
    try lab.a.sync(with: b)
    try b.apply(lab.a.delta(), isRepair: true)
    try expectConverged(lab.a, b)
    #expect(try Self.dump(b) == Self.dump(lab.a))
    #expect(try Self.count(b, "tally_cut") == 6)
  }

  @Test(arguments: damages) func damagedLinksAreRebuilt(_ sql: String) throws {
    let lab = try Self.hiding(.hook)
    try lab.shell("b", sql)
    try lab.b.close()
    let b = try lab.reopened("b")
    _ = try b.rebuild()
    let problems = try b.verify().problems.filter { !$0.contains("damaged") }
    #expect(problems == [])
    try b.apply(lab.a.delta(), isRepair: true)
    try expectConverged(lab.a, b)
  }

  /// What finds links by their targets can be lost without a loss of content.
  @Test func aLostIndexIsMadeAgain() throws {
    let lab = try Self.hiding(.hook)
    let summary = try lab.b.summary()
    try lab.shell("b", "DROP INDEX tally_cut_target")
    try lab.b.close()
    let b = try lab.reopened("b")
    #expect(try b.verify().problems == [] && b.summary() == summary)
    try b.restore(AnyRecordName("P|~|\(Self.uuid)"))
    #expect(try Self.count(b, "G_players") == 5 && Self.count(b, "tally_cut") == 4)
    #expect(try b.verify().problems == [])
  }

  /// A link whose key the disk has changed in the table and not in the index is not left out of a delta without a word.
  @Test func aKeyThatIsNotThatOfTheIndexIsDamage() throws {
    let lab = try Self.hiding(.hook)
    let vector = try lab.b.vector
    try lab.b.run("DELETE FROM G_players WHERE source = 'G|~|\(Self.uuid)' AND target = 'P|~|b'")
    try lab.b.close()
    var configuration = Configuration()
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA writable_schema = ON") }
    // SQLite keeps no index of which it does not know.
    for sql in [
      """
      CREATE TABLE lost AS SELECT * FROM sqlite_master WHERE name = 'tally_cut_target';
      DELETE FROM sqlite_master WHERE name = 'tally_cut_target'
      """,
      """
      UPDATE tally_cut SET target = 'c' WHERE target = 'b' AND typeof(source) = 'blob';
      INSERT INTO sqlite_master SELECT * FROM lost; DROP TABLE lost
      """,
    ] {
      let queue = try DatabaseQueue(path: lab.scratch.path("b"), configuration: configuration)
      try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
      try queue.close()
    }
    let b = try lab.reopened("b")
    let error = #expect(throws: StoreError.self) { try b.delta(since: vector) }
    #expect(error?.code == .damaged)
    // The removal was nowhere else.
    #expect(try b.rebuild().losses.count == 1)
    try b.sync(with: lab.a)
    try lab.a.apply(b.delta())
    try expectConverged(lab.a, b)
  }

  /// A recovery reads hidden links on both sides of a page that is gone.
  @Test func hiddenLinksAreRecoveredFromADamagedFile() throws {
    let lab = try Lab(.hook)
    let count = 2_000
    try lab.a.write { db in
      try db.execute(sql: "INSERT INTO G(id) VALUES('G|~|g')")
      for number in 0..<count {
        try db.execute(sql: "INSERT INTO P(id) VALUES(?)", arguments: ["P|~|\(number)"])
        try db.execute(sql: "INSERT INTO G_players(source, target) VALUES('G|~|g', ?)", arguments: ["P|~|\(number)"])
      }
    }
    try lab.a.run("DELETE FROM G")
    try lab.b.apply(lab.a.delta())
    try lab.a.close()
    let queue = try DatabaseQueue(path: lab.scratch.path("a"))
    let pages = try queue.writeWithoutTransaction { db in
      try db.checkpoint(.truncate)
      return try Int.fetchAll(db, sql: "SELECT pageno FROM dbstat WHERE name = 'tally_cut' AND pagetype = 'leaf'")
    }
    try queue.close()
    #expect(pages.count > 10)
    func recovered(_ page: Int?) throws -> Store {
      var bytes = try Data(contentsOf: URL(fileURLWithPath: lab.scratch.path("a")))
      if let page { bytes.replaceSubrange((page - 1) * 4096..<page * 4096, with: Data(count: 4096)) }
      try bytes.write(to: URL(fileURLWithPath: lab.scratch.path("damaged")))
      let path = lab.scratch.path("new \(page ?? 0)")
      let report = try Store.recover(lab.scratch.path("damaged"), to: path, options: Lab.options(.hook))
      #expect((report.lossCount > 0) == (page != nil))
      return try Store(path: path, schema: Lab.schema, options: Lab.options(.hook))
    }
    let whole = try recovered(nil)
    #expect(try Self.count(whole, "tally_cut") == count)
    #expect(try whole.summary().fingerprint == lab.b.summary().fingerprint)
    let damaged = try recovered(pages[pages.count / 2])
    let kept = try Self.count(damaged, "tally_cut")
    #expect(kept > count * 8 / 10 && kept < count, "\(kept)")
    try damaged.apply(lab.b.delta(), isRepair: true)
    #expect(try Self.count(damaged, "tally_cut") == count)
    #expect(try damaged.verify().problems == [])
  }
}
