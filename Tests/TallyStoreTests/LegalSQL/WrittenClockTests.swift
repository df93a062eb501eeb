import Foundation
import GRDB
import Tally
import TallyStore
import Testing

/// The clock of a row is the store's, and SQL may write it all the same: `SELECT *` copies it.
@Suite(.timeLimit(.minutes(30))) struct WrittenClockTests {
  @Test(arguments: CapturePath.allCases) func rowsThatCarryAnotherRowsClockAreWritesLikeAnyOther(_ path: CapturePath)
    throws
  {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')", "UPDATE P SET pos = 7")
    try lab.a.run("UPDATE P SET pos = 8 WHERE id = 'P|~|1'")
    try lab.sync()
    try lab.a.run("CREATE TABLE bak AS SELECT * FROM P")
    try lab.a.run(
      "INSERT INTO P(id, name, pos, tally_clock) SELECT 'P|~|copy', name, pos, tally_clock FROM P WHERE pos = 8")
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|1'")
    try lab.sync()
    try lab.a.run(
      "INSERT INTO P SELECT * FROM bak WHERE id = 'P|~|1'", "UPDATE P SET name = 'newer' WHERE id = 'P|~|2'")
    try lab.sync()
    try lab.expectEqual()
    try lab.a.run("INSERT OR REPLACE INTO P SELECT * FROM bak")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.rows(lab.b, "P").count == 3)
    #expect(try Lab.text(lab.b, "SELECT name FROM P WHERE id = 'P|~|2'") == "two")
    try lab.shell("a", "INSERT INTO P SELECT 'P|~|out', name, pos, icon, at, settings, tally_clock FROM P LIMIT 1")
    try lab.sync()
    try lab.expectEqual()
  }

  @Test(arguments: CapturePath.allCases) func aClockThatIsNoneIsWrittenOver(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')")
    try lab.sync()
    for (number, clock) in ["x'0102'", "x''", "zeroblob(40)", "zeroblob(15)", "randomblob(15)"].enumerated() {
      try lab.a.run("UPDATE P SET tally_clock = \(clock), name = 'app \(number)' WHERE id = 'P|~|1'")
      try lab.shell("a", "UPDATE P SET tally_clock = \(clock), name = 'shell \(number)' WHERE id = 'P|~|2'")
      try lab.sync()
      try lab.expectEqual()
      #expect(try Lab.text(lab.b, "SELECT name FROM P WHERE id = 'P|~|1'") == "app \(number)")
      #expect(try Lab.text(lab.b, "SELECT name FROM P WHERE id = 'P|~|2'") == "shell \(number)")
    }
  }

  /// While an edit of a seed is captured, the links of the seed may not be captured yet.
  @Test(
    arguments: CapturePath.allCases,
    [
      "UPDATE G_players SET tally_clock = x'0102030405060708090A0B0C0D0E0F'",
      "INSERT INTO G_players(source, target, tally_clock) SELECT G.id, 'P|~|new', x'0102030405060708090A0B0C0D0E0F' FROM G",
    ]) func aClockWrittenToALinkOfASeedIsPutRight(_ path: CapturePath, _ sql: String) throws
  {
    let lab = try Lab(path)
    let records = [
      SeedRecord("person", type: "P", ["name": "one"]),
      SeedRecord("game", type: "G", ["name": "two"], relationships: ["players": ["person"]]),
    ]
    try lab.a.seed(SeedSet("defaults", version: 1, records: records))
    try lab.a.run("INSERT INTO P(id) VALUES('P|~|new')")
    try lab.sync()
    try lab.shell("a", sql, "UPDATE G SET name = 'edited'", "UPDATE P SET name = 'edited too'")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT name FROM G") == "edited")
    #expect(try Lab.rows(lab.b, "G_players").count == (sql.hasPrefix("INSERT") ? 2 : 1))
  }

  @Test(arguments: CapturePath.allCases) func aCopyThatATriggerWritesToAtOnceIsANewRecord(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(
      "INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')", "INSERT INTO G(id) VALUES('G|~|1')",
      "INSERT INTO G_players(source, target) VALUES('G|~|1', 'P|~|1')")
    try lab.sync()
    for store in [lab.a, lab.b] {
      try store.run(
        "CREATE TRIGGER app_born AFTER INSERT ON P BEGIN UPDATE P SET pos = 3 WHERE id = NEW.id; END",
        "CREATE TRIGGER app_no AFTER INSERT ON G_players BEGIN DELETE FROM G_players WHERE target = 'P|~|2'; END")
    }
    let copies = [
      "INSERT INTO P(id, name, tally_clock) SELECT 'P|~|' || %, name, tally_clock FROM P WHERE id = 'P|~|1'",
      "INSERT INTO G_players(source, target, tally_clock) SELECT source, 'P|~|2', tally_clock FROM G_players",
    ]
    try lab.a.run(copies[0].replacing("%", with: "'app'"), copies[1])
    try lab.shell("a", copies[0].replacing("%", with: "'shell'"), copies[1])
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT group_concat(id || pos) FROM P WHERE pos = 3") == "P|~|app3,P|~|shell3")
    #expect(try Lab.rows(lab.b, "G_players").count == 1)
  }

  @Test(arguments: CapturePath.allCases, ["", "CREATE INDEX app_lower ON P(lower(name))"])
  func aClockThatIsWrittenAloneIsMended(_ path: CapturePath, _ index: String) throws {
    let lab = try Lab(path)
    try lab.a.run(
      "INSERT INTO P(id, name) VALUES('P|~|1', 'one')", "INSERT INTO G(id) VALUES('G|~|1')",
      "INSERT INTO G_players(source, target) VALUES('G|~|1', 'P|~|1')", index)
    try lab.sync()
    for clock in ["x'0102'", "zeroblob(15)", "(SELECT tally_clock FROM G)"] {
      for table in ["P", "G_players"] {
        try lab.a.run("UPDATE \(table) SET tally_clock = \(clock)")
        try lab.sync()
        try lab.expectEqual()
        try lab.shell("a", "UPDATE \(table) SET tally_clock = \(clock)")
        try lab.sync()
        try lab.expectEqual()
      }
    }
    #expect(try Lab.text(lab.b, "SELECT name FROM P") == "one")
    #expect(try Lab.rows(lab.b, "G_players").count == 1)
  }

  /// Twelve bytes of ones are what the store itself writes before it deletes a row.
  @Test(arguments: CapturePath.allCases) func aRowWithTheClockOfOneThatLeavesIsDeletedLikeAnyOther(_ path: CapturePath)
    throws
  {
    let lab = try Lab(path)
    try lab.a.run(
      "INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two'), ('P|~|3', 'three')",
      "INSERT INTO G(id) VALUES('G|~|1')", "INSERT INTO G_players(source, target) VALUES('G|~|1', 'P|~|3')")
    try lab.sync()
    let leaves = "SET tally_clock = x'FFFFFFFFFFFFFFFFFFFFFFFF'"
    try lab.a.run("UPDATE P \(leaves), name = 'gone' WHERE id = 'P|~|1'", "DELETE FROM P WHERE id = 'P|~|1'")
    try lab.shell("a", "UPDATE P \(leaves) WHERE id = 'P|~|2'", "DELETE FROM P WHERE id = 'P|~|2'")
    try lab.shell("a", "UPDATE G_players \(leaves)", "DELETE FROM G_players")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM P") == "P|~|3")
    #expect(try Lab.rows(lab.b, "G_players").isEmpty)
  }

  @Test(arguments: CapturePath.allCases) func aTriggerMayWriteToARowWhoseClockIsNone(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(
      "INSERT INTO P(id, name) VALUES('P|~|1', 'one')",
      "CREATE TRIGGER app_own AFTER UPDATE OF name ON P BEGIN UPDATE P SET pos = length(NEW.name) WHERE id = NEW.id; END"
    )
    try lab.sync()
    for (clock, name) in [("x'0102'", "a"), ("zeroblob(15)", "ab"), ("x'000000000000000000000001000000'", "abc")] {
      try lab.a.run("UPDATE P SET tally_clock = \(clock), name = 'app \(name)'")
      try lab.sync()
      try lab.expectEqual()
      try lab.shell("a", "UPDATE P SET tally_clock = \(clock), name = 'shell \(name)'")
      try lab.sync()
      try lab.expectEqual()
      #expect(try Lab.text(lab.b, "SELECT name || pos FROM P") == "shell \(name)\(6 + name.count)")
    }
  }
}
