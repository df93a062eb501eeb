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
@Suite struct LogRowTests {
  private static func rows(_ store: Store) throws -> Int {
    try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM tally_log") ?? -1 }
  }

  private static func ofEntries(_ store: Store) throws -> Int {
    let sql = "SELECT count(*) FROM tally_log WHERE substr(items, 1, 1) = x'01'"
    return try store.read { try Int.fetchOne($0, sql: sql) ?? -1 }
  }

  private static func listed(_ store: Store) throws -> [String] {
    try store.capturedSnapshot { reader in
      var found: [String] = []
      try reader.forEachLogEntry { entry in
        for item in try ChangeLog.items(entry.items, reader.catalog) {
          found.append("\(entry.number) \(entry.replica) \(entry.sequence) \(item.name)")
        }
      }
      return found
    }
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
    #expect(try Self.rows(lab.a) == 2 && Self.ofEntries(lab.a) == 2)
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
    #expect(try Self.ofEntries(lab.a) == 1)
    try lab.a.close()
    let store = try lab.reopened("a")
    for (number, vector) in vectors.enumerated() {
      var reader = try DeltaReader(try store.delta(since: vector))
      var names: [String] = []
      while let block = try reader.nextBlock() { names += block.records.flatMap { $0.items.map(\.name.text) } }
      #expect(names.sorted() == (number..<30).map { "P|~|\($0)" }.sorted())
    }
  }

  /// Many edits of few records: the log is at most twice as long as what it must list.
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
    // Twice one entry of each, and what has come since.
    #expect(longest <= 2 * records + 400)
    let problems = try lab.a.verify().problems
    #expect(problems == [])
    try lab.a.flushTail(sweeping: true)
    #expect(try Self.listed(lab.a).count <= records)
    #expect(try lab.a.verify().problems == [])
    try lab.sync()
    #expect(try lab.a.summary().fingerprint == lab.b.summary().fingerprint)
  }

  /// A flipped bit of a row, of a key as well, is noticed: deltas hold everything all the same.
  @Test func aFlippedBitOfARowLosesNothing() throws {
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|first', 'n')")
    let (base, first) = (try lab.a.vector, try lab.a.delta())
    for number in 0..<20 { try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|\(number)', 'n')") }
    try lab.a.flushTail()
    let bytes = try #require(try lab.a.read { try Data.fetchOne($0, sql: "SELECT items FROM tally_log") })
    try lab.a.close()
    let file = try Data(contentsOf: URL(fileURLWithPath: lab.scratch.path("a")))
    for bit in stride(from: 0, to: bytes.count * 8, by: bytes.count / 3 * 8 / 11) {
      var damaged = bytes
      damaged[bit / 8] ^= 1 << UInt8(bit % 8)
      try file.write(to: URL(fileURLWithPath: lab.scratch.path("d\(bit)")))
      let hex = damaged.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      try lab.shell("d\(bit)", "UPDATE tally_log SET items = x'\(hex)'")
      let store = try lab.reopened("d\(bit)")
      #expect(try !store.verify().problems.isEmpty, "bit \(bit)")
      let peer = try Store(inMemory: Lab.schema)
      try peer.apply(first)
      try peer.apply(try store.delta(since: base))
      #expect(try peer.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM P") } == 21, "bit \(bit)")
      // What cannot be read stays as it is when the log is swept.
      try store.run("UPDATE P SET pos = 1")
      try store.flushTail(sweeping: true)
      #expect(try !store.verify().problems.isEmpty, "bit \(bit)")
      _ = try store.rebuild()
      #expect(try store.verify().problems == [], "bit \(bit)")
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

  /// A sequence that disk damage has made negative does not fail the commit in which a sweep reaches its row.
  @Test func aSequenceBelowZeroEndsNoTransaction() throws {
    let lab = try Lab(.hook)
    for number in 0..<20 { try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|\(number)', 'n')") }
    try lab.a.flushTail()
    try lab.a.close()
    try lab.shell("a", "UPDATE tally_log SET sequence = -sequence")
    let store = try lab.reopened("a")
    for number in 0..<400 { try store.run("UPDATE P SET pos = \(number)") }
    #expect(try store.read { try Int.fetchOne($0, sql: "SELECT max(pos) FROM P") } == 399)
    #expect(try !store.verify().isSound)
  }

  /// A pack that the disk has changed is damage of the log, and ends nothing.
  @Test func aPackThatCannotBeReadIsDamage() throws {
    let lab = try Lab(.hook)
    for number in 0..<20 { try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|\(number)', 'n')") }
    try lab.a.flushTail()
    let wholeVector = StateVector()
    let damaged = [
      "x'00'", "x'0000'", "x'000000'", "x'00000000'", "x'000000FF'", "x'00FFFFFFFFFFFFFFFFFF010101'", "x''", "x'01'",
      "x'010000000000000000'", "x'0100000000000000000000'",
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
