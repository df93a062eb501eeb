import GRDB
import Tally
import TallyStore
import TestEffort
import Testing

/// Rows that REPLACE removes, for which SQLite fires no trigger unless it is asked to.
@Suite(.timeLimit(.minutes(30))) struct ReplaceTests {
  static let indexes = [
    "CREATE UNIQUE INDEX app_one ON P(lower(name))",
    "CREATE UNIQUE INDEX app_one ON P(name COLLATE NOCASE) WHERE pos < 9",
    "CREATE UNIQUE INDEX app_one ON P(replace(lower(name), '\u{301}', ''), -- c\r\n coalesce(pos, ',('))",
    "CREATE UNIQUE INDEX app_one ON P(iif(pos = '1', lower(name), id))",
    "CREATE UNIQUE INDEX app_one ON P(lower(name) DESC) WHERE json_valid(settings) IS NOT 7",
  ]

  /// Whatever an index says, nobody but SQLite reads it.
  @Test(arguments: CapturePath.allCases, Effort.sample(indexes, 2))
  func whatReplaceRemovesThroughAnIndexIsReplicated(_ path: CapturePath, _ index: String) throws {
    let lab = try Lab(path)
    try lab.a.run(index)
    for number in 0...1 {
      func run(_ sql: String) throws { try number == 0 ? lab.a.run(sql) : lab.shell("a", sql) }
      try lab.a.run(
        "INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1), ('P|~|2', 'two', 1), ('P|~|3', 'three', 1)")
      try lab.sync()
      try run("INSERT OR REPLACE INTO P(id, name, pos) VALUES('P|~|4', 'ONE', 1)")
      try lab.sync()
      try lab.expectEqual()
      #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM P ORDER BY id") == "P|~|2,P|~|3,P|~|4")
      try run("UPDATE OR REPLACE P SET name = 'TWO' WHERE id = 'P|~|4'")
      try lab.sync()
      try lab.expectEqual()
      #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM P ORDER BY id") == "P|~|3,P|~|4")
      try run("DELETE FROM P")
      try lab.sync()
    }
  }

  @Test(arguments: CapturePath.allCases) func whatReplaceRemovesByItsNumberIsReplicated(_ path: CapturePath) throws {
    let lab = try Lab(path)
    for number in 0...1 {
      func run(_ sql: String) throws { try number == 0 ? lab.a.run(sql) : lab.shell("a", sql) }
      try lab.a.run(
        "INSERT INTO P(rowid, id) VALUES(1, 'P|~|1'), (2, 'P|~|2'), (3, 'P|~|3')", "INSERT INTO G(id) VALUES('G|~|1')",
        "INSERT INTO G_players(rowid, source, target) VALUES(1, 'G|~|1', 'P|~|2'), (2, 'G|~|1', 'P|~|3')")
      try lab.sync()
      try run("REPLACE INTO P(rowid, id) VALUES(1, 'P|~|4')")
      try run("UPDATE OR REPLACE G_players SET rowid = 1 WHERE rowid = 2")
      try run("UPDATE OR REPLACE P SET rowid = 2 WHERE id = 'P|~|4'")
      try lab.sync()
      try lab.expectEqual()
      #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM P ORDER BY id") == "P|~|3,P|~|4")
      #expect(try Lab.text(lab.b, "SELECT group_concat(target) FROM G_players") == "P|~|3")
      try run("DELETE FROM G_players")
      try run("DELETE FROM G")
      try run("DELETE FROM P")
      try lab.sync()
    }
  }

  /// A generated column changes without being named.
  @Test(arguments: CapturePath.allCases, ["VIRTUAL", "STORED"])
  func whatReplaceRemovesThroughAGeneratedColumnIsReplicated(_ path: CapturePath, _ kind: String) throws {
    let lab = try Lab(path)
    let sql = try #require(try Lab.text(lab.a, "SELECT sql FROM sqlite_master WHERE name = 'P'"))
    let columns = "id, name, pos, icon, at, settings, tally_clock"
    try lab.a.run(
      sql.replacing("CREATE TABLE \"P\"(", with: "CREATE TABLE new(g TEXT AS (lower(name)) \(kind), "),
      "INSERT INTO new(\(columns)) SELECT \(columns) FROM P", "DROP TABLE P", "ALTER TABLE new RENAME TO P",
      "CREATE UNIQUE INDEX app_one ON P(g)")
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two'), ('P|~|3', 'three')")
    try lab.sync()
    try lab.a.run("UPDATE OR REPLACE P SET name = 'ONE' WHERE id = 'P|~|2'")
    try lab.shell("a", "UPDATE OR REPLACE P SET name = 'ONE' WHERE id = 'P|~|3'")
    try lab.sync()
    try expectConverged(lab.a, lab.b)
    #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM P") == "P|~|3")
  }

  /// Rows that merely have equal values are none of REPLACE's, however many there are.
  @Test func aPartialIndexCostsAnOutsideWriterNothing() throws {
    let lab = try Lab(.hook)
    try lab.a.run("CREATE UNIQUE INDEX app_default ON F(fav) WHERE fav = 1")
    try lab.shell(
      "a",
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
      INSERT INTO F(id, fav) SELECT 'F|~|' || i, 0 FROM n
      """)
    let queue = try DatabaseQueue(path: lab.scratch.path("a"))
    #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM tally_pending") } == 2000)
    try queue.close()
  }

  /// SQLite says which column may not be null, and a trigger of the app's may see to it that it is not.
  @Test(arguments: CapturePath.allCases) func aMissingIdIsTheAppsToFillIn(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(
      """
      CREATE TRIGGER app_id BEFORE INSERT ON P WHEN NEW.id IS NULL BEGIN
        INSERT INTO P(id, name) VALUES('P|~|' || NEW.name, NEW.name);
        SELECT RAISE(IGNORE);
      END
      """, "CREATE UNIQUE INDEX app_one ON P(name)")
    try lab.a.run("INSERT INTO P(id, name) VALUES(NULL, 'a')")
    try lab.shell("a", "INSERT INTO P(id, name) VALUES(NULL, 'b')")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM P") == "P|~|a,P|~|b")
    let error = #expect(throws: DatabaseError.self) { try lab.shell("a", "INSERT INTO G(id) VALUES(NULL)") }
    #expect(error?.message == "NOT NULL constraint failed: G.id")
  }
}
