import Foundation
import GRDB
import GRDBSQLite
import Tally
import TallyCRDT
import TallyTesting
import TallyWire
import TestEffort
import Testing

@testable import TallyStore

/// Rows of the change log that hold the entries of many transactions.
@Suite struct LogPackTests {
  private static func rows(_ store: Store) throws -> Int {
    try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM tally_log") ?? -1 }
  }

  private static func packs(_ store: Store) throws -> Int {
    let sql = "SELECT count(*) FROM tally_log WHERE substr(items, 1, 1) = x'00'"
    return try store.read { try Int.fetchOne($0, sql: sql) ?? -1 }
  }

  private static func listed(_ store: Store) throws -> [String] {
    try store.capturedSnapshot { reader in
      var found: [String] = []
      try reader.forEachLogEntry { entry in
        for item in try ChangeLog.items(entry.items, reader.catalog) {
          found.append("\(entry.number) \(entry.replica) \(try entry.sequence) \(item.name)")
        }
      }
      return found
    }
  }

  private static func needless(_ store: Store) throws -> Data? {
    try store.read { try Data.fetchOne($0, sql: "SELECT value FROM tally_meta WHERE key = 'needless'") }
  }

  private static func edit(_ store: Store, _ count: Int, of records: Int, _ dice: inout SplitMix64) throws {
    for _ in 0..<count {
      let record = Int.random(in: 0..<records, using: &dice)
      let sql = "INSERT INTO P(id, name) VALUES('P|~|\(record)', 'a') ON CONFLICT DO UPDATE SET pos = pos + 1"
      try store.run(sql.replacing("pos + 1", with: "\(Int.random(in: 0..<1000, using: &dice))"))
    }
  }

  /// Entries keep their numbers and their order when they move, a row for all of a replica.
  @Test(arguments: CapturePath.allCases) func movingChangesNothingThatIsRead(_ path: CapturePath) throws {
    let lab = try Lab(path)
    for number in 0..<20 {
      try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|a\(number)', 'n')")
      try lab.b.run("INSERT INTO P(id, name) VALUES('P|~|b\(number)', 'n')")
      if number % 3 == 0 { try lab.sync() }
    }
    let before = try Self.listed(lab.a)
    let vectors = try (lab.a.summary().vector, lab.b.summary().vector)
    try lab.a.flushTail()
    #expect(try Set(Self.listed(lab.a)) == Set(before) && before.count > 30)
    #expect(try Self.rows(lab.a) == 2 && Self.packs(lab.a) == 2)
    #expect(try (lab.a.summary().vector, lab.b.summary().vector) == vectors)
    #expect(try lab.a.verify().problems == [])
  }

  /// A delta since any earlier vector brings all that came since, and nothing of the same pack that came before.
  @Test(arguments: CapturePath.allCases) func aDeltaTakesTheRightEntriesOfAPack(_ path: CapturePath) throws {
    let lab = try Lab(path)
    var vectors: [StateVector] = []
    for number in 0..<30 {
      vectors.append(try lab.a.vector)
      try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|\(number)', 'n')")
    }
    try lab.a.flushTail()
    #expect(try Self.packs(lab.a) == 1)
    try lab.a.close()
    let store = try lab.reopened("a")
    for (number, vector) in vectors.enumerated() {
      var reader = try DeltaReader(try store.delta(since: vector))
      var names: [String] = []
      while let block = try reader.nextBlock() { names += block.records.flatMap { $0.items.map(\.name.text) } }
      #expect(names.sorted() == (number..<30).map { "P|~|\($0)" }.sorted())
    }
  }

  /// Many edits of few records: the log stays as long as what it finds and what waits to be dropped.
  @Test(arguments: Effort.sample([1, 7, 100, 400], 2)) func editsOfTheSameRecordsDoNotMakeTheLogLong(_ records: Int)
    throws
  {
    let lab = try Lab(.hook)
    var dice = SplitMix64(seed: UInt64(records))
    var longest = 0
    for _ in 0..<(Effort.isLong ? 12 : 6) {
      try Self.edit(lab.a, 500, of: records, &dice)
      longest = max(longest, try Self.listed(lab.a).count)
    }
    // An insert and an edit of each, and what is needless: in the tail, and some that wait.
    #expect(longest <= 2 * records + 2_300)
    let problems = try lab.a.verify().problems
    #expect(problems == [])
    try lab.a.flushTail()
    #expect(try Self.listed(lab.a).count <= 2 * records)
    #expect(try Self.needless(lab.a) == nil)
    #expect(try lab.a.verify().problems == [])
    try lab.sync()
    #expect(try lab.a.summary().fingerprint == lab.b.summary().fingerprint)
  }

  /// Whatever one bit of what waits to be dropped was flipped: nothing is dropped that is needed.
  @Test func damageOfWhatWaitsLosesNothing() throws {
    let lab = try Lab(.hook)
    var dice = SplitMix64(seed: 3)
    try Self.edit(lab.a, 900, of: 400, &dice)
    let bytes = try #require(try Self.needless(lab.a))
    try lab.a.close()
    let files = try Data(contentsOf: URL(fileURLWithPath: lab.scratch.path("a")))
    for bit in stride(from: 0, to: bytes.count * 8, by: bytes.count / 6 * 8 + 3) {
      var damaged = bytes
      damaged[bit / 8] ^= 1 << UInt8(bit % 8)
      try files.write(to: URL(fileURLWithPath: lab.scratch.path("d\(bit)")))
      let hex = damaged.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      try lab.shell("d\(bit)", "UPDATE tally_meta SET value = x'\(hex)' WHERE key = 'needless'")
      let store = try lab.reopened("d\(bit)")
      try Self.edit(store, 300, of: 400, &dice)
      try store.flushTail()
      #expect(try store.verify().problems == [], "bit \(bit)")
      let peer = try Store(inMemory: Lab.schema)
      try peer.apply(try store.delta())
      #expect(try peer.summary().fingerprint == store.summary().fingerprint)
    }
  }

  /// A row of a zone that does not exist is found by no search for new entries. Deltas hold everything all the same,
  /// `verify` reports it, and a rebuild lists the record again.
  @Test(arguments: ["zone = 7", "zone = -1"]) func aRowOfAnotherZoneIsDamage(_ change: String) throws {
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|first', 'n')")
    let base = try lab.a.vector
    for number in 0..<20 { try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|\(number)', 'n')") }
    try lab.b.apply(try lab.a.delta())
    for number in 0..<20 { try lab.a.run("UPDATE P SET pos = 1 WHERE id = 'P|~|\(number)'") }
    try lab.a.flushTail()
    let known = try lab.b.vector
    try lab.a.close()
    try lab.shell("a", "UPDATE tally_log SET \(change) WHERE sequence > \(base.entries[0].sequence)")
    let store = try lab.reopened("a")
    #expect(try store.verify().problems.contains { $0.contains("of a zone") })
    try lab.b.apply(try store.delta(since: known))
    #expect(try lab.b.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM P WHERE pos = 1") } == 20)
    #expect(try lab.b.summary().fingerprint == store.summary().fingerprint)
    _ = try store.rebuild()
    #expect(try store.verify().problems == [])
  }

  /// A sequence that disk damage has made negative does not fail the commit in which pruning reaches its row.
  @Test func aSequenceBelowZeroEndsNoTransaction() throws {
    let lab = try Lab(.hook)
    for number in 0..<20 { try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|\(number)', 'n')") }
    try lab.a.flushTail()
    try lab.a.close()
    try lab.shell("a", "UPDATE tally_log SET sequence = -sequence")
    let store = try lab.reopened("a")
    // So many at once leave it to pruning what is needless.
    for number in 0..<400 { try store.run("UPDATE P SET pos = \(number)") }
    #expect(try store.read { try Int.fetchOne($0, sql: "SELECT max(pos) FROM P") } == 399)
    #expect(try !store.verify().isSound)
  }

  /// To look for an entry that is to be dropped reads no row of many items, of which there may be some of a megabyte.
  @Test func droppingReadsNoLongRows() throws {
    let scratch = try Scratch()
    let queue = try DatabaseQueue(path: scratch.path("log"))
    try queue.write { db in
      try db.execute(
        sql: """
          CREATE TABLE tally_meta(key TEXT PRIMARY KEY, value BLOB);
          CREATE TABLE tally_log(
            n INTEGER PRIMARY KEY, zone INTEGER NOT NULL, replica INTEGER NOT NULL, sequence INTEGER NOT NULL,
            items BLOB NOT NULL);
          CREATE INDEX tally_log_dot ON tally_log(zone, replica, sequence);
          """)
      for number in 0..<8 {
        try db.execute(
          sql: "INSERT INTO tally_log(zone, replica, sequence, items) VALUES(0, 1, ?, zeroblob(1000000))",
          arguments: [1000 + number])
      }
    }
    let misses = try queue.write { db in
      let connection = try Connection(db)
      var needless = try NeedlessEntries(connection)
      let replica = ReplicaNumber(rawValue: 1)
      needless.add((1...500).map { LogTail.Needless(replica: replica, sequence: $0, items: [1, 2]) })
      var missed = 0
      try needless.drop(connection) { _ in missed += 1 }
      #expect(missed == 500)
      var (count, highest): (Int32, Int32) = (0, 0)
      sqlite3_db_status(db.sqliteConnection, SQLITE_DBSTATUS_CACHE_MISS, &count, &highest, 0)
      connection.forgetStatements()
      return count
    }
    // A row of a megabyte has 250 pages.
    #expect(misses < 2000, "\(misses) pages")
  }

  /// A pack that the disk has changed is damage of the log, and ends nothing.
  @Test func aPackThatCannotBeReadIsDamage() throws {
    let lab = try Lab(.hook)
    for number in 0..<20 { try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|\(number)', 'n')") }
    try lab.a.flushTail()
    let wholeVector = StateVector()
    let damaged = [
      "x'00'", "x'0000'", "x'000000'", "x'00000000'", "x'000000FF'", "x'00FFFFFFFFFFFFFFFFFF010101'", "x''",
    ]
    for items in damaged {
      try lab.a.close()
      try lab.shell("a", "UPDATE tally_log SET items = \(items)")
      let store = try lab.reopened("a")
      #expect(try !store.verify().problems.isEmpty, "\(items)")
      let peer = try Store(inMemory: Lab.schema)
      try peer.apply(try store.delta(since: wholeVector))
      #expect(try peer.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM P") } == 20)
      try store.close()
    }
  }
}
