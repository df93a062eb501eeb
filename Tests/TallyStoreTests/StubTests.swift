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

/// Records of which only a stub is left, as everything that reads and writes hidden records meets them.
@Suite struct StubTests {
  private static let uuid = "386c1919-5f25-4be2-975f-5b34506c51db"
  private static let keys = [uuid, "b", uuid.uppercased()]

  private static func name(_ text: String) throws -> AnyRecordName { try AnyRecordName(text) }

  private static func count(_ store: Store, _ from: String) throws -> Int {
    try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(from)") ?? 0 }
  }

  private static func dump(_ store: Store) throws -> [String] {
    var lines: [String] = []
    try store.dump(.canonical) { lines.append($0) }
    return lines
  }

  /// Both have persons that were deleted and emptied, each with a game, and one that is there.
  private static func lab(_ path: CapturePath) throws -> Lab {
    let lab = try Lab(path)
    for key in ["stays"] + keys {
      try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|\(key)', 'one', 1)")
      try lab.a.run("INSERT INTO G(id, name, owner, friend) VALUES('G|~|\(key)', 'two', 'P|~|\(key)', 'P|~|stays')")
    }
    try lab.sync()
    try lab.a.run("DELETE FROM P WHERE id <> 'P|~|stays'")
    try lab.a.empty(ripe: nil)
    try lab.sync()
    try lab.expectEqual()
    for store in [lab.a, lab.b] {
      #expect(try count(store, "tally_stub") == 6)
      #expect(try count(store, "tally_hidden") == 0)
    }
    return lab
  }

  // MARK: Size

  /// What a deleted record takes for good, in bytes of `tally_stub`, and of what waits: nothing.
  @Test(arguments: Effort.sample([(false, 62.0), (true, 90.0)], 1)) func aStubTakesFewBytes(
    isOwned: Bool, limit: Double
  ) throws {
    let time = Mutex(1_800_000_000.0)
    var options = StoreOptions()
    options.now = { Date(timeIntervalSince1970: time.withLock { $0 }) }
    options.compaction = .manual(restoreWindow: .days(30))
    let scratch = try Scratch()
    let store = try scratch.store("a", schema: Lab.schema, options: options)
    let count = Effort.isLong ? 20_000 : 4_000
    var random = SplitMix64(seed: 24)
    func uuid() -> String { UUID(bits: random.next(), random.next()).uuidString.lowercased() }
    for _ in 0..<20 {
      time.withLock { $0 += 3_600 }
      let owners = (0..<20).map { _ in uuid() }
      try store.write { db in
        for owner in isOwned ? owners : [] {
          try db.execute(sql: "INSERT INTO P(id, name) VALUES(?, 'owner')", arguments: ["P|~|\(owner)"])
        }
        for number in 0..<count / 20 {
          try db.execute(
            sql: "INSERT INTO G(id, name, owner) VALUES(?, 'a name of some length', ?)",
            arguments: ["G|~|\(uuid())", isOwned ? "P|~|\(owners[number % 20])" : nil])
        }
      }
    }
    time.withLock { $0 += 86_400 }
    try store.run("DELETE FROM \(isOwned ? "P" : "G")")
    try store.compact()
    #expect(try Self.count(store, "tally_stub") == 0)
    time.withLock { $0 += 40 * 86_400 }
    #expect(try store.compact().emptied == count + (isOwned ? 400 : 0))
    #expect(try Self.count(store, "tally_stub") == count + (isOwned ? 400 : 0))
    #expect(try Self.count(store, "tally_hidden") == 0)
    #expect(try Self.count(store, "tally_wait") == 0)
    let bytes = try store.read {
      try Int.fetchOne($0, sql: "SELECT sum(pgsize) FROM dbstat WHERE name = 'tally_stub'") ?? 0
    }
    #expect(bytes > 0 && Double(bytes) / Double(count) <= limit, "\(Double(bytes) / Double(count))")
    #expect(try store.verify().problems == [])
  }

  // MARK: Reading

  /// Nothing of what a store says differs by where it keeps what it says.
  @Test(arguments: CapturePath.allCases) func whatReadsHiddenRecordsReadsStubs(_ path: CapturePath) throws {
    let lab = try Self.lab(path)
    for store in [lab.a, lab.b] {
      #expect(try store.status().counts.first { $0.type == "P" }?.hidden == 3)
      #expect(try store.recentlyDeleted(ofType: "P").isEmpty)
      for key in Self.keys {
        let history = try store.history(of: Self.name("G|~|\(key)"))
        #expect(history?.fields.contains { $0.value == .text("P|~|\(key)") } == true)
        #expect(throws: StoreError.self) { try store.restore(Self.name("P|~|\(key)")) }
        #expect(try store.purge(Self.name("P|~|\(key)")).emptied == 0)
      }
    }
    do {
      try lab.a.restore(Self.name("P|~|b"))
    } catch let error as StoreError {
      #expect(error.code == .purged)
    }
    let lines = try Self.dump(lab.a)
    #expect(try lines == Self.dump(lab.b))
    let named = lines.dropFirst().compactMap { line in
      line.range(of: "\"name\":\"").map { String(line[$0.upperBound...]) }
    }
    #expect(named.count == 8 && named == named.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    // As a whole, and from a file that is opened anew.
    try lab.a.close()
    let again = try lab.reopened("a")
    let third = try Store(inMemory: Lab.schema, options: Lab.options(path))
    try third.apply(again.delta())
    try expectConverged(again, third, lab.b)
    #expect(try Self.dump(third) == lines)
    #expect(try Self.count(third, "tally_stub") == 6)
  }

  /// A device that took part until any point gets by a delta what it lacks, and has stubs in the end.
  @Test(arguments: CapturePath.allCases) func aDeltaSinceAnyVectorLeadsToTheSame(_ path: CapturePath) throws {
    let lab = try Lab(path)
    var stages: [(vector: StateVector, delta: [UInt8])] = []
    func note() throws { stages.append((try lab.a.vector, try lab.a.delta())) }
    for key in Self.keys {
      try lab.a.run("INSERT INTO F(id, name) VALUES('F|~|\(key)', 'one')")
      try note()
      try lab.a.run("INSERT INTO F(id, name, parent) VALUES('F|~|below \(key)', 'two', 'F|~|\(key)')")
      try lab.b.apply(lab.a.delta(since: lab.b.vector))
      try lab.b.run("UPDATE F SET fav = 1 WHERE id = 'F|~|\(key)'")
      try lab.sync()
      try note()
    }
    try lab.a.run("DELETE FROM F")
    try note()
    try lab.a.empty(ripe: nil)
    for (vector, delta) in stages {
      let other = try Store(inMemory: Lab.schema, options: Lab.options(path))
      try other.apply(delta)
      #expect(try other.vector == vector)
      try other.apply(lab.a.delta(since: vector))
      try expectConverged(other, lab.a)
      #expect(try Self.count(other, "tally_stub") == 6)
    }
  }

  // MARK: Writing

  @Test(arguments: CapturePath.allCases) func anInsertOverAStubIsANewLife(_ path: CapturePath) throws {
    let lab = try Self.lab(path)
    for (store, key) in zip([lab.a, lab.b, lab.a], Self.keys) {
      try store.run("INSERT INTO P(id, name) VALUES('P|~|\(key)', 'again')")
      #expect(try Self.count(store, "tally_stub") == 5)
      #expect(try store.verify().problems == [])
      try lab.sync()
      try lab.expectEqual()
      #expect(try Lab.text(lab.a, "SELECT name FROM P WHERE id = 'P|~|\(key)'") == "again")
      // What it owned was emptied with it, and stays away.
      #expect(try Self.count(store, "G") == 1)
      try store.run("DELETE FROM P WHERE id = 'P|~|\(key)'")
      try store.empty(ripe: nil)
      try lab.sync()
      try lab.expectEqual()
      #expect(try Self.count(lab.a, "tally_stub") == 6 && Self.count(lab.b, "tally_stub") == 6)
    }
  }

  @Test(arguments: CapturePath.allCases) func anEditThatNobodyHadSeenRevivesAStub(_ path: CapturePath) throws {
    let lab = try Lab(path)
    for key in Self.keys { try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|\(key)', 'one', 1)") }
    try lab.sync()
    for key in Self.keys { try lab.b.run("UPDATE P SET pos = 2 WHERE id = 'P|~|\(key)'") }
    let edits = try lab.b.delta(since: lab.a.vector)
    try lab.a.run("DELETE FROM P")
    try lab.a.empty(ripe: nil)
    #expect(try Self.count(lab.a, "tally_stub") == 3)
    try lab.a.apply(edits)
    #expect(try Self.count(lab.a, "tally_stub") == 0)
    try lab.sync()
    try lab.expectEqual(["P"])
    #expect(try Lab.text(lab.a, "SELECT group_concat(name || pos) FROM P") == "one2,one2,one2")
  }

  /// What a file from before says again brings nothing back, whole or packed.
  @Test(arguments: CapturePath.allCases) func anOldDeltaIsVoid(_ path: CapturePath) throws {
    let lab = try Lab(path)
    for key in Self.keys { try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|\(key)', 'one', 1)") }
    try lab.sync()
    let old = try lab.a.delta()
    try lab.a.run("DELETE FROM P")
    try lab.a.empty(ripe: nil)
    try lab.sync()
    for store in [lab.a, lab.b] {
      let before = (try Self.dump(store), try store.summary().fingerprint)
      try store.apply(old)
      try store.apply(old, isRepair: true)
      #expect(try Self.dump(store) == before.0 && store.summary().fingerprint == before.1)
      #expect(try Self.count(store, "tally_stub") == 3 && Self.count(store, "P") == 0)
    }
    try lab.expectEqual(["P"])
  }

  // MARK: Damage

  private static let damages = [
    "UPDATE tally_stub SET body = x'09'", "DELETE FROM tally_stub WHERE typeof(key) = 'blob'", "DELETE FROM tally_stub",
    "UPDATE tally_stub SET key = x'00' WHERE typeof(key) = 'blob'",
    "UPDATE tally_stub SET body = CAST(substr(body, 1, 1) || x'010203' || substr(body, 5) AS BLOB)",
    "DROP TABLE tally_stub", "UPDATE tally_stub SET kind = kind + 70",
    "INSERT INTO tally_hidden(kind, key, body) SELECT kind, 'P|~|b', x'01' FROM tally_stub WHERE key = 'b' LIMIT 1",
  ]

  /// Whatever becomes of stubs in a file, it is noticed, and the next sync puts it right.
  @Test(arguments: damages) func damagedStubsAreHealed(_ sql: String) throws {
    let lab = try Self.lab(.hook)
    try lab.shell("b", sql)
    try lab.b.close()
    let b = try lab.reopened("b")
    #expect(try b.verify().problems != [])
    try lab.a.sync(with: b)
    try b.apply(lab.a.delta(), isRepair: true)
    try expectConverged(lab.a, b)
    #expect(try Self.dump(b) == Self.dump(lab.a))
    #expect(try Self.count(b, "tally_stub") == 6)
  }

  @Test(arguments: damages) func damagedStubsAreRebuilt(_ sql: String) throws {
    let lab = try Self.lab(.hook)
    try lab.shell("b", sql)
    try lab.b.close()
    let b = try lab.reopened("b")
    _ = try b.rebuild()
    let problems = try b.verify().problems.filter { !$0.contains("damaged") }
    #expect(problems == [])
    try b.apply(lab.a.delta(), isRepair: true)
    try expectConverged(lab.a, b)
  }

  /// A recovery reads stubs on both sides of a page that is gone.
  @Test func stubsAreRecoveredFromADamagedFile() throws {
    let lab = try Lab(.hook)
    let count = 2_000
    try lab.a.write { db in
      for number in 0..<count {
        try db.execute(sql: "INSERT INTO P(id, name) VALUES(?, 'one')", arguments: ["P|~|\(number)"])
      }
    }
    try lab.a.run("DELETE FROM P")
    try lab.a.empty(ripe: nil)
    try lab.b.apply(lab.a.delta())
    try lab.a.close()
    let queue = try DatabaseQueue(path: lab.scratch.path("a"))
    let pages = try queue.writeWithoutTransaction { db in
      try db.checkpoint(.truncate)
      return try Int.fetchAll(db, sql: "SELECT pageno FROM dbstat WHERE name = 'tally_stub' AND pagetype = 'leaf'")
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
    #expect(try Self.count(whole, "tally_stub") == count)
    #expect(try whole.summary().fingerprint == lab.b.summary().fingerprint)
    let damaged = try recovered(pages[pages.count / 2])
    let kept = try Self.count(damaged, "tally_stub")
    #expect(kept > count * 9 / 10 && kept < count, "\(kept)")
    try damaged.apply(lab.b.delta(), isRepair: true)
    #expect(try Self.count(damaged, "tally_stub") == count)
    #expect(try damaged.verify().problems == [])
  }
}

extension UUID {
  init(bits high: UInt64, _ low: UInt64) {
    func byte(_ word: UInt64, _ place: Int) -> UInt8 { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * place)) }
    let all = (0..<8).map { byte(high, $0) } + (0..<8).map { byte(low, $0) }
    self.init(
      uuid: (
        all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7], all[8], all[9], all[10], all[11], all[12],
        all[13], all[14], all[15]
      ))
  }
}
