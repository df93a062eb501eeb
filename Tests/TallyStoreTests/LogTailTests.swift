import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyStore
import TallyTesting
import TestEffort
import Testing

/// The newest entries of the vector and of the change log stand in one row, and move into their tables by the dozen.
/// Nobody who reads either can tell.
@Suite struct LogTailTests {
  private static func count(_ store: Store, _ table: String) throws -> Int {
    try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") ?? -1 }
  }

  private static func tail(_ store: Store) throws -> Data? {
    try store.read { try Data.fetchOne($0, sql: "SELECT tail FROM tally_zone") }
  }

  private static func listed(_ store: Store) throws -> [String] {
    try store.capturedSnapshot { reader in
      var found: [String] = []
      try reader.forEachLogEntry { entry in
        for item in try ChangeLog.items(entry.items, reader.catalog) {
          found.append("\(entry.replica) \(entry.sequence) \(item.name)")
        }
      }
      return found
    }
  }

  /// A delta since any earlier vector brings what has come since, wherever its entries stand.
  @Test(arguments: CapturePath.allCases) func everyVectorGetsWhatItLacks(_ path: CapturePath) throws {
    let lab = try Lab(path)
    var dice = SplitMix64(seed: 7)
    var vectors: [StateVector] = []
    var states: [Store] = []
    for number in 0..<150 {
      let name = "P|~|\(Int.random(in: 0..<30, using: &dice))"
      switch Int.random(in: 0..<8, using: &dice) {
      case 0: try lab.a.run("DELETE FROM P WHERE id = '\(name)'")
      case 1: try lab.a.sync(with: lab.b)
      case 2: try lab.b.run("INSERT INTO P(id, name) VALUES('\(name)', 'b') ON CONFLICT DO UPDATE SET pos = \(number)")
      case 3 where number % 5 == 0:
        let rows = (0..<40).map { "('P|~|many \(number) \($0)', 'n')" }.joined(separator: ", ")
        try lab.a.run("INSERT INTO P(id, name) VALUES \(rows)")
      default:
        try lab.a.run("INSERT INTO P(id, name) VALUES('\(name)', 'a') ON CONFLICT DO UPDATE SET pos = \(number)")
      }
      if number % 10 == 0 {
        let state = try Store(inMemory: Lab.schema, options: Lab.options(path))
        try state.apply(try lab.a.delta())
        vectors.append(try lab.a.vector)
        states.append(state)
      }
    }
    #expect(try Self.tail(lab.a) != nil)
    for (vector, state) in zip(vectors, states) {
      try state.apply(try lab.a.delta(since: vector))
      #expect(try state.summary().vector == lab.a.summary().vector)
      #expect(try state.summary().fingerprint == lab.a.summary().fingerprint)
    }
    #expect(try lab.a.verify().problems == [])
    let (summary, listed) = (try lab.a.summary(), try Self.listed(lab.a))
    try lab.a.close()
    let again = try lab.reopened("a")
    #expect(try again.summary().vector == summary.vector)
    #expect(try Self.listed(again) == listed)
    try again.flushTail()
    #expect(try Self.tail(again) == nil)
    // But for what was changed again.
    #expect(try Set(Self.listed(again)).isSubset(of: listed))
    #expect(try again.summary().vector == summary.vector)
    #expect(try again.verify().problems == [])
  }

  @Test func smallTransactionsLeaveTheTablesAlone() throws {
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')")
    for number in 0..<10 { try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|n\(number)', 'n')") }
    #expect(try Self.count(lab.a, "tally_log") == 0 && Self.count(lab.a, "tally_vector") == 0)
    #expect(try Self.listed(lab.a).count == 11)
    // They follow when there is no more room, and keep their order.
    let before = try Self.listed(lab.a)
    for number in 10..<300 { try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|n\(number)', 'n')") }
    // A row for many of them.
    #expect(try (1...6).contains(Self.count(lab.a, "tally_log")))
    #expect(try Self.count(lab.a, "tally_vector") == 0)
    #expect(try Self.listed(lab.a).prefix(11).elementsEqual(before))
    #expect(try #require(try Self.tail(lab.a)).count < 2_100)
  }

  /// A large transaction goes to the table, after those before it.
  @Test func aLargeTransactionComesAfterSmallOnes() throws {
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|first', 'one')")
    let rows = (0..<100).map { "('P|~|\($0)', 'n')" }.joined(separator: ", ")
    try lab.a.run("INSERT INTO P(id, name) VALUES \(rows)")
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|last', 'one')")
    let listed = try Self.listed(lab.a)
    #expect(listed.first?.hasSuffix("first") == true && listed.last?.hasSuffix("last") == true && listed.count == 102)
  }

  /// What is changed again and again does not go to the table, however often.
  @Test func theSameItemsNeverLeaveTheTail() throws {
    let lab = try Lab(.hook)
    for number in 0..<5 { try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|\(number)', 'n')") }
    for number in 0..<400 { try lab.a.run("UPDATE P SET pos = \(number) WHERE id = 'P|~|\(number % 5)'") }
    #expect(try Self.count(lab.a, "tally_log") == 0)
    try lab.a.flushTail()
    #expect(try Self.listed(lab.a).count == 5)
    #expect(try lab.a.verify().problems == [])
  }

  /// The log stays short however the edits come: from stores of one file that take turns, from a program that starts
  /// for each, and between writes that fail.
  @Test(arguments: ["turns", "opened", "failed"]) func theLogStaysShort(_ way: String) throws {
    struct Enough: Error {}
    let lab = try Lab(.hook)
    for number in 0..<50 { try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|\(number)', 'n')") }
    var store = lab.a
    let other = way == "turns" ? try lab.reopened("a") : nil
    for number in 0..<(Effort.isLong ? 600 : 200) {
      if way == "opened" {
        try store.close()
        store = try lab.reopened("a")
      }
      if way == "failed" {
        try? store.write { db in
          try db.execute(sql: "UPDATE P SET pos = -1 WHERE id = 'P|~|\(number % 50)'")
          throw Enough()
        }
      }
      let writer = number % 2 == 0 ? store : other ?? store
      try writer.run("UPDATE P SET pos = \(number) WHERE id = 'P|~|\(number % 50)'")
    }
    #expect(try Self.listed(store).count < 250)
    try store.flushTail(sweeping: true)
    #expect(try Self.listed(store).count == 50)
    #expect(try store.verify().problems == [])
  }

  /// More replicas than the tail holds entries of the vector for.
  @Test func manyReplicasMoveToTheTable() throws {
    let lab = try Lab(.hook)
    for number in 0..<40 {
      let other = try Store(inMemory: Lab.schema, options: Lab.options(.hook))
      try other.run("INSERT INTO P(id, name) VALUES('P|~|\(number)', 'n')")
      try lab.a.apply(try other.delta())
      #expect(try lab.a.verify().problems == [])
    }
    #expect(try Self.count(lab.a, "tally_vector") >= 24)
    let summary = try lab.a.summary()
    #expect(summary.vector.entries.count == 40)
    try lab.a.close()
    let again = try lab.reopened("a")
    #expect(try again.summary().vector == summary.vector)
    try again.sync(with: lab.b)
    try expectConverged(again, lab.b)
  }

  /// An entry that is listed again, under a transaction of long ago, stays listed.
  @Test func whatIsListedAgainStays() throws {
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')", "INSERT INTO P(id, name) VALUES('P|~|2', 'two')")
    try lab.a.run("UPDATE P SET pos = 1 WHERE id = 'P|~|1'")
    try lab.sync()
    try lab.a.flushTail()
    try lab.a.run("UPDATE P SET pos = 2 WHERE id = 'P|~|1'")
    try lab.a.apply(try lab.b.delta(), isRepair: true)
    try lab.a.flushTail()
    #expect(try lab.a.verify().problems == [])
    try lab.sync()
    try lab.expectEqual()
  }

  /// Two stores of one file, such as those of two processes, take turns.
  @Test func storesOfOneFileTakeTurns() throws {
    let lab = try Lab(.hook)
    let other = try lab.reopened("a")
    for number in 0..<120 {
      let store = number % 3 == 0 ? other : lab.a
      try store.run("INSERT INTO P(id, name) VALUES('P|~|\(number)', 'n')")
      if number % 7 == 0 { try other.run("UPDATE P SET pos = \(number) WHERE id = 'P|~|0'") }
    }
    #expect(try lab.a.summary() == other.summary())
    #expect(try Self.listed(lab.a) == Self.listed(other))
    #expect(try lab.a.verify().problems == [])
    try lab.sync()
    try lab.expectEqual()
  }

  /// A transaction that is rolled back takes its entries along.
  @Test func aRollbackTakesItsEntriesAlong() throws {
    struct Enough: Error {}
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')")
    let (tail, summary) = (try Self.tail(lab.a), try lab.a.summary())
    #expect(throws: Enough.self) {
      try lab.a.write { db in
        try db.execute(sql: "UPDATE P SET pos = 1")
        throw Enough()
      }
    }
    #expect(throws: (any Error).self) { try lab.a.run("UPDATE P SET pos = 1", "INSERT INTO G(id) VALUES('none')") }
    #expect(try Self.tail(lab.a) == tail && lab.a.summary() == summary)
    try lab.a.run("UPDATE P SET pos = 2")
    #expect(try lab.a.verify().problems == [])
  }

  // MARK: Files of earlier versions

  private func number(_ lab: Lab, _ sql: String) throws -> Int? {
    let queue = try DatabaseQueue(path: lab.scratch.path("a"))
    defer { try? queue.close() }
    return try queue.read { try Int.fetchOne($0, sql: sql) }
  }

  /// Makes a file what it would be if a store of version 3 had written it.
  private func makeOld(_ lab: Lab) throws {
    try lab.a.flushTail()
    try lab.a.close()
    let queue = try DatabaseQueue(path: lab.scratch.path("a"))
    try queue.writeWithoutTransaction { db in
      try db.execute(sql: "ALTER TABLE tally_zone DROP COLUMN tail; PRAGMA user_version = 3")
      try db.execute(sql: "DELETE FROM tally_meta WHERE key = 'shape'")
    }
    try queue.close()
  }

  /// It differs in nothing else that a store would look at. One that has it open learns of it.
  @Test func aFileOfVersionFourBecomesOneOfThisVersion() throws {
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')")
    try lab.a.close()
    try lab.shell("a", "PRAGMA user_version = 4")
    let before = try number(lab, "PRAGMA schema_version")
    let again = try lab.reopened("a")
    #expect(try again.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 7)
    #expect(try again.read { try Int.fetchOne($0, sql: "PRAGMA schema_version") } != before)
    #expect(try again.verify().problems == [])
  }

  @Test func aFileOfVersionThreeBecomesOneOfThisVersion() throws {
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')")
    let summary = try lab.a.summary()
    try makeOld(lab)
    var options = Lab.options(.hook)
    options.isReadOnly = true
    let reading = try Store(existing: lab.scratch.path("a"), options: options)
    #expect(try reading.summary().vector == summary.vector)
    #expect(try reading.verify().problems == [])
    try reading.close()
    let again = try lab.reopened("a")
    #expect(try again.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 7)
    #expect(try again.summary().vector == summary.vector && again.summary().fingerprint == summary.fingerprint)
    try again.run("UPDATE P SET pos = 2")
    #expect(try Self.tail(again) != nil)
    #expect(try again.verify().problems == [])
    try again.sync(with: lab.b)
    try expectConverged(again, lab.b)
  }

  // MARK: Damage

  private func damaged(_ lab: Lab, bits: [Int]) throws -> Store {
    try lab.a.close()
    let queue = try DatabaseQueue(path: lab.scratch.path("a"))
    try queue.write { db in
      var bytes = try #require(try Data.fetchOne(db, sql: "SELECT tail FROM tally_zone"))
      for bit in bits { bytes[bit / 8 % bytes.count] ^= 1 << UInt8(bit % 8) }
      try db.execute(sql: "UPDATE tally_zone SET tail = ?", arguments: [bytes])
    }
    try queue.close()
    return try lab.reopened("a")
  }

  private func lab() throws -> Lab {
    let lab = try Lab(.hook)
    for number in 0..<6 { try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|\(number)', 'n')") }
    try lab.sync()
    try lab.b.run("UPDATE P SET pos = 3 WHERE id = 'P|~|3'")
    try lab.sync()
    try lab.a.run("UPDATE P SET pos = 5 WHERE id = 'P|~|5'")
    return lab
  }

  @Test(arguments: [0, 63, 64, 70, 90, 200, 777, 1_000]) func aFlippedBitIsPutRight(bit: Int) throws {
    let lab = try lab()
    let (summary, listed) = (try lab.a.summary(), try Self.listed(lab.a))
    let a = try damaged(lab, bits: [bit])
    #expect(try a.doubt() == nil)
    #expect(try a.summary().vector == summary.vector && a.summary().replica == summary.replica)
    #expect(try Self.listed(a) == listed)
    #expect(try a.verify().problems == [])
    try a.sync(with: lab.b)
    try expectConverged(a, lab.b)
  }

  @Test(arguments: [[0, 1], [64, 300], [100, 500], [900, 901, 902]]) func moreDamageIsHealed(bits: [Int]) throws {
    let lab = try lab()
    let since = try lab.b.vector
    var a = try damaged(lab, bits: bits)
    #expect(try a.doubt()?.level == .damaged)
    #expect(throws: StoreError.self) { try a.delta(since: since) }
    try a.sync(with: lab.b)
    try a.run("INSERT INTO P(id, name) VALUES('P|~|later', 'n')")
    try a.sync(with: lab.b)
    try expectConverged(a, lab.b)
    #expect(try Lab.text(lab.b, "SELECT pos FROM P WHERE id = 'P|~|5'") == "5")
    // The log lists all again.
    let fresh = try Store(inMemory: Lab.schema, options: Lab.options(.hook))
    try fresh.apply(try lab.b.delta())
    for store in [a, lab.b] { #expect(try store.verify().problems == []) }
    try a.close()
    a = try lab.reopened("a")
    #expect(try a.doubt()?.level != .damaged)
  }

  /// Any bit of what SQLite keeps before the row's values makes other values of them, or none.
  @Test func aFlippedBitBeforeTheValuesLosesNothing() throws {
    let lab = try Lab(.hook)
    try lab.b.run("INSERT INTO P(id, name) VALUES('P|~|b', 'b')")
    try lab.sync()
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|alone', 'a')")
    try lab.a.close()
    let path = lab.scratch.path("a")
    let queue = try DatabaseQueue(path: path)
    _ = try queue.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    let tail = try #require(try queue.read { try Data.fetchOne($0, sql: "SELECT tail FROM tally_zone") })
    try queue.close()
    let sound = try Data(contentsOf: URL(fileURLWithPath: path))
    // The header, the id, `fingerprint` and, of a byte or none, `hooked` stand before it.
    let end = try #require(sound.firstRange(of: tail)).lowerBound - 16 - 24
    var opened = 0
    for place in end - 11..<end {
      for bit in 0..<8 {
        var bytes = sound
        bytes[place] ^= 1 << UInt8(bit)
        try bytes.write(to: URL(fileURLWithPath: path))
        for other in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + other) }
        let peer = try Store(inMemory: Lab.schema, options: Lab.options(.hook))
        try peer.apply(try lab.b.delta())
        let a: Store
        do {
          a = try lab.reopened("a")
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
          // SQLite itself finds that it can be no row.
          continue
        }
        for _ in 0..<2 { try a.sync(with: peer) }
        opened += 1
        #expect(try a.summary().fingerprint == peer.summary().fingerprint, "\(place - end) \(bit)")
        #expect(try Lab.text(peer, "SELECT name FROM P WHERE id = 'P|~|alone'") == "a", "\(place - end) \(bit)")
        // What SQLite's own check says of a column of the row, a rebuild puts right.
        let problems = try a.verify().problems.filter { !$0.contains("tally_zone") }
        #expect(problems == [], "\(place - end) \(bit)")
        try a.close()
      }
    }
    #expect(opened > 30)
  }

  /// Whatever of vector and tail is lost: the log lists all again, so that a peer which has some of it gets the rest.
  @Test(arguments: [
    "UPDATE tally_zone SET tail = NULL", "UPDATE tally_zone SET tail = x''", "DELETE FROM tally_vector",
    "UPDATE tally_vector SET sequence = sequence + 96", "UPDATE tally_vector SET sequence = 0",
    "ALTER TABLE tally_zone DROP COLUMN tail", "UPDATE tally_log SET n = -n - 1000",
  ]) func whatIsLostIsListedAnew(sql: String) throws {
    let lab = try Lab(.hook)
    try lab.b.run("INSERT INTO P(id, name) VALUES('P|~|b', 'b')")
    try lab.sync()
    for number in 0..<6 { try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|\(number)', 'n')") }
    try lab.a.flushTail()
    try lab.a.run("UPDATE P SET pos = 3 WHERE id = 'P|~|3'")
    try lab.sync()
    try lab.a.run("UPDATE P SET pos = 5 WHERE id = 'P|~|5'")
    try lab.a.close()
    try lab.shell("a", sql)
    var a = try lab.reopened("a")
    try a.run("UPDATE P SET pos = 4 WHERE id = 'P|~|4'")
    for _ in 0..<2 { try a.sync(with: lab.b) }
    try expectConverged(a, lab.b)
    #expect(try Lab.text(lab.b, "SELECT group_concat(pos) FROM (SELECT pos FROM P ORDER BY id)") == "3,4,5")
    for store in [a, lab.b] { #expect(try store.verify().problems == []) }
    try a.close()
    a = try lab.reopened("a")
    #expect(try a.verify().problems == [])
  }

  /// A store that may only read it refuses to give deltas.
  @Test func aReaderOfADamagedTailRefuses() throws {
    let lab = try lab()
    let since = try lab.b.vector
    try lab.a.close()
    let queue = try DatabaseQueue(path: lab.scratch.path("a"))
    try queue.write { try $0.execute(sql: "UPDATE tally_zone SET tail = x'00'") }
    try queue.close()
    var options = Lab.options(.hook)
    options.isReadOnly = true
    let reading = try Store(existing: lab.scratch.path("a"), options: options)
    let error = #expect(throws: StoreError.self) { try reading.delta(since: since) }
    #expect(error?.code == .damaged)
    #expect(try !reading.verify().problems.isEmpty)
    try reading.close()
  }

  /// The row with the tail is gone: the log is made anew, and the vector is not taken for an empty one.
  @Test(arguments: [false, true]) func theLogIsMadeAnewWithoutTheZone(_ isFlushed: Bool) throws {
    let lab = try lab()
    let since = try lab.b.vector
    if isFlushed { try lab.a.flushTail() }
    try lab.a.close()
    let queue = try DatabaseQueue(path: lab.scratch.path("a"))
    try queue.write { try $0.execute(sql: "DELETE FROM tally_zone") }
    try queue.close()
    let a = try lab.reopened("a")
    try a.sync(with: lab.b)
    try a.sync(with: lab.b)
    try expectConverged(a, lab.b)
    #expect(try Lab.text(lab.b, "SELECT pos FROM P WHERE id = 'P|~|5'") == "5")
    #expect(!since.isEmpty)
    for store in [a, lab.b] { #expect(try store.verify().problems == []) }
  }
}
