import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyStore
import TestEffort
import Testing

/// Edits of fields, whose states are never made: they must come to what whole states come to.
@Suite struct EditTests {
  /// A store says of itself whether its sum fits its states, and its log its cells.
  private func expectSound(_ lab: Lab, sourceLocation: SourceLocation = #_sourceLocation) throws {
    for store in [lab.a, lab.b] {
      #expect(try store.verify().problems == [], sourceLocation: sourceLocation)
    }
    try lab.expectEqual()
  }

  @Test(arguments: CapturePath.allCases) func editsOfTwoDevicesMeetFieldByField(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1), ('P|~|2', 'two', NULL)")
    try lab.sync()
    for round in 0..<4 {
      // In turn each device overwrites what the other wrote, what it wrote itself, and a default.
      try lab.a.run("UPDATE P SET pos = \(round), name = 'a\(round)'", "UPDATE P SET at = '2026-01-0\(round + 1)'")
      try lab.b.run("UPDATE P SET pos = \(round + 10) WHERE id = 'P|~|1'", "UPDATE P SET settings = '[\(round)]'")
      try lab.sync()
      try expectSound(lab)
    }
    // An edit that the other device overwrote is a touch still: a delete that has not seen it gives way to it.
    try lab.a.run("UPDATE P SET pos = 100 WHERE id = 'P|~|1'")
    try lab.b.run("DELETE FROM P WHERE id = 'P|~|1'")
    try lab.sync()
    try expectSound(lab)
    #expect(try Lab.text(lab.b, "SELECT pos FROM P WHERE id = 'P|~|1'") == "100")
  }

  @Test(arguments: CapturePath.allCases) func aValueThatGoesBackWithinATransactionIsNoEdit(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1)")
    let before = try lab.a.summary()
    try lab.a.run("UPDATE P SET pos = 2", "UPDATE P SET pos = 1")
    #expect(try lab.a.vector == before.vector)
    try lab.a.run("UPDATE P SET pos = 2, name = 'two'", "UPDATE P SET name = 'one'")
    try lab.sync()
    try expectSound(lab)
    #expect(try lab.b.delta(since: before.vector).count < 200)
  }

  @Test(arguments: CapturePath.allCases) func anEditedChildBringsItsDeletedOwnerBack(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(
      "INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')",
      "INSERT INTO G(id, name, owner) VALUES('G|~|1', 'g', 'P|~|1')")
    try lab.sync()
    // From here on a deletion has been, so owners must be looked at.
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|2'")
    try lab.sync()
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|1'")
    try lab.b.run("UPDATE G SET rating = 3")
    try lab.sync()
    try expectSound(lab)
    #expect(try Lab.rows(lab.a, "G").count == 1 && Lab.rows(lab.a, "P").count == 1)
  }

  @Test(arguments: CapturePath.allCases) func anOverwrittenEditIsInTheJournal(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1)")
    try lab.sync()
    try lab.a.run("UPDATE P SET pos = 2")
    try lab.b.run("UPDATE P SET pos = 3")
    try lab.a.apply(try lab.b.delta(since: try lab.a.vector))
    try lab.b.apply(try lab.a.delta(since: try lab.b.vector))
    try expectSound(lab)
    // Where the two writes met first.
    #expect(try lab.a.conflicts().map(\.name.text) == ["P|~|1"])
  }

  @Test(arguments: CapturePath.allCases) func anEditThatARowRefusesSetsItAside(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1), ('P|~|2', 'two', 2)")
    try lab.sync()
    try lab.b.run(
      "CREATE TRIGGER few BEFORE UPDATE OF pos ON P WHEN NEW.pos > 9 BEGIN SELECT RAISE(ABORT, 'too many'); END",
      "CREATE TRIGGER fewer BEFORE INSERT ON P WHEN NEW.pos > 9 BEGIN SELECT RAISE(ABORT, 'too many'); END")
    try lab.a.run("UPDATE P SET pos = pos + 10", "UPDATE P SET name = name || '!'")
    try lab.sync()
    #expect(try lab.b.status().setAside.count == 2)
    #expect(try lab.b.verify().problems == [])
    try lab.b.run("DROP TRIGGER few", "DROP TRIGGER fewer")
    try lab.sync()
    try expectSound(lab)
    #expect(try lab.b.status().setAside.isEmpty)
  }

  @Test(arguments: CapturePath.allCases) func aComplaintThatLeavesTheRowRefusesNothing(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1), ('P|~|2', 'two', 2)")
    try lab.sync()
    for event in ["UPDATE", "INSERT", "DELETE"] {
      let row = event == "DELETE" ? "OLD" : "NEW"
      try lab.b.run(
        """
        CREATE TRIGGER complain_\(event) AFTER \(event) ON P WHEN \(row).pos > 9
          BEGIN SELECT RAISE(FAIL, 'too many'); END
        """)
    }
    // The first edit of a row, the second, a new row, and a delete.
    for sql in [
      "UPDATE P SET pos = pos + 10", "UPDATE P SET pos = pos + 10", "INSERT INTO P(id, pos) VALUES('P|~|3', 30)",
      "DELETE FROM P WHERE id = 'P|~|1'",
    ] {
      try lab.a.run(sql)
      try lab.sync()
      try expectSound(lab)
    }
    #expect(try lab.b.status().setAside.isEmpty)
  }

  @Test(arguments: CapturePath.allCases) func theLogStaysShortWhereTwoDevicesOverwriteEachOther(_ path: CapturePath)
    throws
  {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, pos) VALUES('P|~|1', 0)")
    for number in 1...(Effort.isLong ? 400 : 240) {
      let (writer, reader) = number.isMultiple(of: 2) ? (lab.a, lab.b) : (lab.b, lab.a)
      try reader.apply(try writer.delta(since: try reader.vector))
      try writer.apply(try reader.delta(since: try writer.vector))
      try writer.run("UPDATE P SET pos = \(number)")
    }
    try lab.sync()
    for store in [lab.a, lab.b] {
      #expect(try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM tally_log") ?? 0 } < 200)
    }
    try expectSound(lab)
  }

  @Test func rowsWithNegativeNumbersMaySwapWhatIsUniqueAndNeverNull() throws {
    let schema = Schema([EntitySchema("R", .integer("place", default: 0))])
    let lab = try Lab(.hook, schema)
    for store in [lab.a, lab.b] { try store.run("CREATE UNIQUE INDEX places ON R(place)") }
    try lab.b.run("INSERT INTO R(rowid, id, place) VALUES(-5, 'R|~|1', 1), (-6, 'R|~|2', 2)")
    try lab.sync()
    try lab.a.run(
      "UPDATE R SET place = 9 WHERE id = 'R|~|1'", "UPDATE R SET place = 1 WHERE id = 'R|~|2'",
      "UPDATE R SET place = 2 WHERE id = 'R|~|1'")
    try lab.sync()
    #expect(try Lab.text(lab.b, "SELECT group_concat(place) FROM (SELECT place FROM R ORDER BY id)") == "2,1")
    #expect(try lab.b.verify().problems == [])
  }

  @Test func theLogHoldsOneEntryForEachEditThatCounts() throws {
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1), ('P|~|2', 'two', 2)")
    try lab.sync()
    for number in 0..<50 {
      try lab.a.run("UPDATE P SET pos = \(number + 10) WHERE id = 'P|~|1'")
      try lab.b.apply(try lab.a.delta(since: try lab.b.vector))
    }
    // One of both records' insert, and the last edit.
    for store in [lab.a, lab.b] {
      try store.flushTail(sweeping: true)
      let entries = try store.capturedSnapshot { reader in
        var count = 0
        try reader.forEachLogEntry { _ in count += 1 }
        return count
      }
      #expect(entries == 2)
    }
    try expectSound(lab)
  }

  @Test(arguments: CapturePath.allCases) func aTimeAtItsLimitLeavesTheWinnerToTheReplica(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1)")
    try lab.sync()
    var far = Lab.options(path)
    far.now = { Date(timeIntervalSince1970: Double(HybridTime.maximum) / 1000) }
    let store = try lab.scratch.store("a", schema: Lab.schema, options: far)
    try store.run("UPDATE P SET pos = 2")
    try store.sync(with: lab.b)
    try lab.b.run("UPDATE P SET pos = 3")
    try store.sync(with: lab.b)
    for store in [store, lab.b] { #expect(try store.verify().problems == []) }
    #expect(try Lab.rows(store, "P") == Lab.rows(lab.b, "P"))
  }

  /// However many edits come before it in one transaction.
  @Test(arguments: CapturePath.allCases, [1, 9]) func aStateThatIsMissingIsSaidToBe(_ path: CapturePath, edits: Int)
    throws
  {
    let lab = try Lab(path)
    for key in 1...9 { try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|\(key)', 'one', 1)") }
    try lab.a.run("UPDATE P SET pos = 2")
    try lab.a.close()
    // Capture begins with the row that was written last, so the first row's state is the last one that is read.
    try lab.shell("a", "DELETE FROM tally_extra WHERE n = (SELECT max(n) FROM tally_extra)")
    let store = try lab.reopened("a")
    let error = #expect(throws: StoreError.self) {
      try store.write { try $0.execute(sql: "UPDATE P SET pos = 3 WHERE rowid <= \(edits)") }
    }
    #expect(error?.code == .corrupt)
  }
}
