import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyTesting
import TestEffort
import Testing

@testable import TallyStore

/// The change log of a file that is opened again and again, put back from a copy, or damaged.
@Suite struct LogSweepOfFileTests {
  private static let long = String(repeating: "k", count: 60)

  private static func bytes(_ store: Store) throws -> Int {
    try store.read { try Int.fetchOne($0, sql: "SELECT sum(length(items)) FROM tally_log") ?? 0 }
  }

  private static func insert(_ store: Store, _ numbers: Range<Int>, _ name: String = "n") throws {
    try store.run(
      "INSERT INTO P(id, name) VALUES \(numbers.map { "('P|~|\(long)\($0)', '\(name)')" }.joined(separator: ", "))")
  }

  // MARK: Copies

  /// In the middle of a sweep an older copy takes the file's place, and other devices bring back all that there was,
  /// in another order: replicas have other numbers then. What the sweep has seen says nothing of this log.
  @Test func aSweepEndsWhereAnOlderCopyTakesTheFilesPlace() throws {
    let lab = try Lab(.hook)
    try Self.insert(lab.a, 0..<1_000)
    try lab.a.flushTail(sweeping: true)
    let (file, copy) = (
      try DatabaseQueue(path: lab.scratch.path("a")), try DatabaseQueue(path: lab.scratch.path("older"))
    )
    try file.backup(to: copy)
    let c = try lab.reopened("c")
    try lab.b.run("INSERT INTO P(id, name) VALUES('P|~|x', 'b')")
    for number in 1_000..<1_300 { try Self.insert(lab.b, number..<number + 1) }
    try c.run("INSERT INTO P(id, name) VALUES('P|~|x', 'c')")
    try lab.b.run("UPDATE P SET pos = 1 WHERE id = 'P|~|x'")
    try lab.a.apply(try lab.b.delta())
    // It reads the rows of the first replica, and half of those of the second.
    var sweep = LogSweep()
    func run() throws {
      sweep.note(LogSweep.Listed(again: 100))
      _ = try lab.a.replicate { try sweep.run($0.reader, added: 100) }
    }
    func isUnderWay() -> Bool {
      Mirror(reflecting: sweep).children.contains { $0.label == "pass" && "\($0.value)" != "nil" }
    }
    while !isUnderWay() { try run() }
    try run()
    try #require(isUnderWay())

    try copy.backup(to: file)
    for queue in [file, copy] { try queue.close() }
    let other = try lab.reopened("a")
    for peer in [c, lab.b] { try other.apply(try peer.delta()) }
    #expect(try other.verify().problems == [])
    _ = try lab.a.replicate { try sweep.follow($0.connection) }
    for _ in 0..<10 { try run() }
    #expect(try lab.a.verify().problems == [])
  }

  // MARK: Length

  /// A program that starts for each write, of more than a few records: the log is not longer than for one that runs on.
  @Test(arguments: [false, true]) func theLogStaysShortForAProgramThatStartsForEachWrite(isFailing: Bool) throws {
    struct Enough: Error {}
    let lab = try Lab(.hook)
    try Self.insert(lab.a, 0..<100)
    try lab.a.flushTail(sweeping: true)
    let least = try Self.bytes(lab.a)
    var store = lab.a
    for round in 0..<30 {
      if isFailing {
        try? store.write { db in
          try db.execute(sql: "UPDATE P SET pos = -1")
          throw Enough()
        }
      } else {
        try store.close()
        store = try lab.reopened("a")
      }
      try store.run("UPDATE P SET pos = \(round)")
      // Twice of what it must be, what one transaction adds, and what may come without a sweep.
      #expect(try Self.bytes(store) < 3 * least + 1_000, "\(round)")
    }
    #expect(try store.verify().problems == [])
  }

  /// A log that is too long for one slice of a sweep, and no program that runs on: sweeps come to an end all the same.
  @Test func aSweepThatIsNeverFinishedIsMadeUpFor() throws {
    let lab = try Lab(.hook)
    let (count, step) = (1_500, 25)
    try Self.insert(lab.a, 0..<count)
    try lab.a.flushTail(sweeping: true)
    let least = try Self.bytes(lab.a)
    #expect(least > 90_000)
    var (store, longest) = (lab.a, 0)
    // A record comes again after more than a slice reads.
    for round in 0..<(Effort.isLong ? 600 : 190) {
      try store.close()
      store = try lab.reopened("a")
      let first = round * step % count
      let names = (first..<first + step).map { "'P|~|\(Self.long)\($0)'" }.joined(separator: ", ")
      try store.run("UPDATE P SET pos = \(round) WHERE id IN (\(names))")
      longest = max(longest, try Self.bytes(store))
    }
    #expect(longest < 7 * least / 2)
    try store.flushTail(sweeping: true)
    #expect(try Self.bytes(store) < least + least / 4)
    #expect(try store.verify().problems == [])
  }

  /// Each transaction changes all records, and writes more than a slice of a sweep reads at once.
  @Test func aSweepKeepsPaceWithLargeTransactions() throws {
    let lab = try Lab(.hook)
    for start in stride(from: 0, to: 1_000, by: 20) { try Self.insert(lab.a, start..<start + 20) }
    try lab.a.flushTail(sweeping: true)
    let least = try Self.bytes(lab.a)
    let entries = try lab.a.capturedSnapshot { reader in
      var entries: [LogEntry] = []
      try reader.forEachLogEntry { entries.append($0) }
      return entries
    }
    #expect(entries.count == 50)
    var (sweep, number) = (LogSweep(mostBytes: 1 << 12), try #require(entries.map(\.number).max()))
    for round in 1...20 {
      _ = try lab.a.replicate { transaction in
        var added = 0
        for entry in entries {
          number += 1
          let again = LogEntry(
            number: number, replica: entry.replica, sequence: UInt64(100 + round), items: entry.items)
          let row = try #require(LogRow([again]))
          try row.insert(transaction.connection)
          added += row.bytes.count
        }
        sweep.note(LogSweep.Listed(again: added))
        try sweep.run(transaction.reader, added: added)
      }
      #expect(try Self.bytes(lab.a) < 5 * least, "\(round)")
    }
  }

  // MARK: Damage

  /// Numbers that the disk has changed, of rows or of what the last sweep left, end no transaction and lose nothing.
  @Test(arguments: [
    "UPDATE tally_log SET n = 9223372036854775807 WHERE n = (SELECT max(n) FROM tally_log)",
    "UPDATE tally_log SET n = -9223372036854775807 - 1 WHERE n = (SELECT min(n) FROM tally_log)",
    """
    UPDATE tally_log SET n = -9223372036854775807 - 1 WHERE n = (SELECT min(n) FROM tally_log);
    UPDATE tally_log SET n = 9223372036854775807 WHERE n = (SELECT max(n) FROM tally_log)
    """,
    "UPDATE tally_log SET n = 384307168202282325 + n WHERE n = (SELECT max(n) FROM tally_log)",
    "INSERT OR REPLACE INTO tally_meta VALUES('log', '1 9223372036854775807')",
    "INSERT OR REPLACE INTO tally_meta VALUES('log', '9223372036854775807 0 9223372036854775807')",
    "INSERT OR REPLACE INTO tally_meta VALUES('log', '-1 -9223372036854775808 0')",
    "INSERT OR REPLACE INTO tally_meta VALUES('log', x'FF20')",
  ]) func numbersThatTheDiskHasChangedEndNoTransaction(sql: String) throws {
    let lab = try Lab(.hook)
    for start in stride(from: 0, to: 120, by: 40) { try Self.insert(lab.a, start..<start + 40) }
    let base = try lab.a.vector
    try lab.b.apply(try lab.a.delta())
    try lab.a.close()
    try lab.shell("a", sql)
    var store = try lab.reopened("a")
    for round in 0..<3 {
      try Self.insert(store, 200 + round * 40..<240 + round * 40)
      for number in 0..<40 { try store.run("UPDATE P SET pos = \(round) WHERE id = 'P|~|\(Self.long)\(number)'") }
      try store.flushTail(sweeping: true)
      try store.close()
      store = try lab.reopened("a")
    }
    #expect(try store.verify().problems == [])
    try lab.b.apply(try store.delta(since: base))
    try expectConverged(store, lab.b)
  }

  /// A row of which the disk has left nothing: deltas hold everything all the same.
  @Test func anEmptyRowIsDamage() throws {
    let lab = try Lab(.hook)
    try Self.insert(lab.a, 0..<3)
    let base = try lab.a.vector
    try lab.b.apply(try lab.a.delta())
    try Self.insert(lab.a, 3..<30)
    try lab.a.close()
    try lab.shell("a", "UPDATE tally_log SET items = x''")
    let store = try lab.reopened("a")
    try lab.b.apply(try store.delta(since: base))
    #expect(try lab.b.summary().fingerprint == store.summary().fingerprint)
    try store.flushTail(sweeping: true)
    #expect(try !store.verify().problems.isEmpty)
    _ = try store.rebuild()
    #expect(try store.verify().problems == [])
  }
}
