import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyStore
import Testing

/// Writes of other programs that a trigger sees before SQLite has put defaults in, and columns with a collation.
@Suite struct OutsideReplaceTests {
  /// REPLACE puts the default in the place of a null, in the clock as elsewhere, and after the triggers have run.
  @Test(arguments: CapturePath.allCases) func aNullForTheClockIsNone(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')")
    try lab.a.run("INSERT INTO G(id, name) VALUES('G|~|1', 'game')")
    try lab.sync()
    let statements = [
      """
      INSERT OR REPLACE INTO P(id, name, tally_clock)
      SELECT 'P|~|3', 'joined', p.tally_clock FROM (SELECT 1) LEFT JOIN P p ON p.id = 'P|~|3'
      """,
      "REPLACE INTO P(id, name, tally_clock) VALUES('P|~|1', 'replaced', NULL)",
      "UPDATE OR REPLACE P SET name = 'updated', tally_clock = NULL WHERE id = 'P|~|2'",
      "REPLACE INTO G_players(source, target, tally_clock) VALUES('G|~|1', 'P|~|1', NULL)",
    ]
    try lab.shell("a", statements[0], statements[1], statements[2], statements[3])
    try lab.sync()
    try lab.expectEqual()
    let names = "SELECT group_concat(name) FROM (SELECT name FROM P ORDER BY id)"
    #expect(try Lab.text(lab.b, names) == "replaced,updated,joined")
    // The same from the store's own connection.
    try lab.b.run(statements[1], statements[2], statements[0])
    try lab.sync()
    try lab.expectEqual()
  }

  @Test(arguments: CapturePath.allCases) func aNullThatBecomesADefaultReplacesWhoHasIt(_ path: CapturePath) throws {
    let schema = Schema([EntitySchema("T", .text("name", default: "d"), .integer("n"))])
    let lab = try Lab(path, schema)
    try lab.a.run("CREATE UNIQUE INDEX one_name ON T(name)")
    try lab.a.run("INSERT INTO T(id, n) VALUES('T|~|1', 1)", "INSERT INTO T(id, name) VALUES('T|~|3', 'three')")
    try lab.sync()
    try lab.shell("a", "REPLACE INTO T(id, name) VALUES('T|~|2', NULL)")
    try lab.sync()
    try lab.expectEqual(["T"])
    #expect(try Lab.rows(lab.a, "T") == ["'T|~|2','d',NULL", "'T|~|3','three',NULL"])
    try lab.shell("a", "UPDATE OR REPLACE T SET name = NULL WHERE id = 'T|~|3'")
    try lab.sync()
    try lab.expectEqual(["T"])
    #expect(try Lab.rows(lab.b, "T") == ["'T|~|3','d',NULL"])
  }

  /// A column that may not be null and has no default takes none.
  @Test(arguments: CapturePath.allCases) func aUniqueColumnWithoutADefaultIsComparedAsItIs(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id) VALUES('P|~|1')", "INSERT INTO G(id) VALUES('G|~|1'), ('G|~|2')")
    try lab.a.run("CREATE UNIQUE INDEX one_team ON G_players(target)")
    try lab.shell("a", "INSERT INTO G_players(source, target) VALUES('G|~|1', 'P|~|1')")
    try lab.shell("a", "REPLACE INTO G_players(source, target) VALUES('G|~|2', 'P|~|1')")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.rows(lab.b, "G_players").count == 1)
  }

  /// A column of the app's making may compare without regard to case; a value that differs in case is another one.
  @Test(arguments: CapturePath.allCases, ["NOCASE", "RTRIM"])
  func columnsThatCompareOtherwiseLoseNothing(_ path: CapturePath, _ collation: String) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'abc'), ('P|~|2', 'x')")
    let sql = try #require(try Lab.text(lab.a, "SELECT sql FROM sqlite_master WHERE name = 'P'"))
    try lab.a.run(
      sql.replacingOccurrences(of: "CREATE TABLE \"P\"", with: "CREATE TABLE rebuilt")
        .replacingOccurrences(of: "\"name\" TEXT", with: "\"name\" TEXT COLLATE \(collation)"),
      "INSERT INTO rebuilt SELECT * FROM P", "DROP TABLE P", "ALTER TABLE rebuilt RENAME TO P")
    #expect(try Lab.text(lab.a, "SELECT sql FROM sqlite_master WHERE name = 'P'")?.contains(collation) == true)
    try lab.sync()
    for (name, changed) in [("shell", "ABC"), ("own", "abc "), ("shell", "abc"), ("own", "aBc")] {
      let update = "UPDATE P SET name = '\(changed)' WHERE id = 'P|~|1'"
      if name == "own" { try lab.a.run(update) } else { try lab.shell("a", update) }
      try lab.sync()
      try lab.expectEqual()
      #expect(try Lab.text(lab.b, "SELECT name FROM P WHERE id = 'P|~|1'") == changed)
    }
    // An index by bytes on it, in whose way a change of case alone can be.
    try lab.a.run("CREATE UNIQUE INDEX by_bytes ON P(name COLLATE BINARY)")
    try lab.shell("a", "UPDATE OR REPLACE P SET name = 'ABC' WHERE id = 'P|~|1'")
    try lab.shell("a", "UPDATE P SET name = 'abc' WHERE id = 'P|~|2'")
    try lab.shell("a", "UPDATE OR REPLACE P SET name = 'ABC' WHERE id = 'P|~|2'")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.rows(lab.b, "P").count == 1)
  }
}
