import GRDB
import Tally
import TallyStore
import TestEffort
import Testing

/// Tables that an app has rebuilt (create, copy, drop, rename) in a way that SQLite takes and no store can use:
/// opening says which, and what to do.
@Suite struct RebuiltTableTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var table = "P"
    /// What of the table's SQL becomes what.
    var old: String
    var new: String
    /// What the error must say.
    var says: [String]
  }

  static let cases = [
    Case(
      testDescription: "id with COLLATE NOCASE", old: "id TEXT NOT NULL PRIMARY KEY",
      new: "id TEXT NOT NULL COLLATE NOCASE PRIMARY KEY", says: ["NOCASE", "no COLLATE"]),
    Case(testDescription: "WITHOUT ROWID", old: ") STRICT", new: ") STRICT, WITHOUT ROWID", says: ["WITHOUT ROWID"]),
    Case(
      testDescription: "no primary key", old: "id TEXT NOT NULL PRIMARY KEY", new: "id TEXT NOT NULL",
      says: ["PRIMARY KEY(id)"]),
    Case(
      testDescription: "no primary key of a relationship", table: "G_players", old: ", PRIMARY KEY(source, target)",
      new: "", says: ["PRIMARY KEY(source, target)"]),
    Case(
      testDescription: "a reference to the table's old name", table: "G", old: "REFERENCES \"P\"(id)",
      new: "REFERENCES \"P_old\"(id)", says: ["refers to P_old(id)", "REFERENCES \"P\"(id)"]),
    Case(
      testDescription: "a reference to another column", table: "G_players", old: "REFERENCES \"P\"(id)",
      new: "REFERENCES \"P\"(name)", says: ["target refers to P(name)", "REFERENCES \"P\"(id)"]),
    Case(
      testDescription: "a reference that deletes", table: "G", old: "REFERENCES \"P\"(id)",
      new: "REFERENCES \"P\"(id) ON DELETE CASCADE", says: ["ON DELETE CASCADE", "without it; onDelete in the schema"]),
    Case(
      testDescription: "a member that goes with its record", table: "G_players", old: "REFERENCES \"P\"(id)",
      new: "REFERENCES \"P\"(id) ON UPDATE SET NULL", says: ["target has ON UPDATE SET NULL"]),
    Case(testDescription: "no clock", old: ", tally_clock BLOB", new: ", stamp BLOB", says: ["tally_clock is missing"]),
  ]

  @Test(arguments: Effort.sample(cases, 4), CapturePath.allCases)
  func aTableThatNoStoreCanUseIsNamedAtOpeningWithTheRemedy(_ it: Case, _ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')")
    try lab.a.run(
      "INSERT INTO G(id, owner) VALUES('G|~|1', 'P|~|1')",
      "INSERT INTO G_players VALUES('G|~|1', 'P|~|1', x'000000000000000000000000')")
    let sql = try #require(try Lab.text(lab.a, "SELECT sql FROM sqlite_master WHERE name = '\(it.table)'"))
    let rebuilt = sql.replacing("CREATE TABLE \"\(it.table)\"", with: "CREATE TABLE rebuilt").replacing(
      it.old, with: it.new)
    #expect(rebuilt != sql)
    try lab.a.close()
    try lab.shell(
      "a", "PRAGMA legacy_alter_table = ON", rebuilt, "INSERT INTO rebuilt SELECT * FROM \"\(it.table)\"",
      "DROP TABLE \"\(it.table)\"",
      "ALTER TABLE rebuilt RENAME TO \"\(it.table)\"")
    let error = #expect(throws: StoreError.self) { try lab.reopened("a") }
    #expect(error?.code == .incompatibleTable, "\(error?.description ?? "")")
    let message = error?.message ?? ""
    #expect(message.hasPrefix("the table \(it.table) "))
    for part in it.says { #expect(message.contains(part), "\(message)") }

    // The remedy helps.
    try lab.shell(
      "a", "PRAGMA legacy_alter_table = ON", sql.replacing("CREATE TABLE \"\(it.table)\"", with: "CREATE TABLE remedy"),
      "INSERT INTO remedy SELECT * FROM \"\(it.table)\"", "DROP TABLE \"\(it.table)\"",
      "ALTER TABLE remedy RENAME TO \"\(it.table)\"")
    let store = try lab.reopened("a")
    try store.run("UPDATE P SET name = 'after'")
    try store.sync(with: lab.b)
    try expectConverged(store, lab.b)
    #expect(try Lab.text(lab.b, "SELECT name FROM P") == "after")
  }

  /// SQLite's own name for what tells rows apart, which a column can take away.
  @Test(arguments: CapturePath.allCases) func aColumnThatHidesTheRowIDIsNamedAtOpening(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')")
    try lab.a.close()
    try lab.shell("a", "ALTER TABLE P ADD COLUMN RowID TEXT")
    let error = #expect(throws: StoreError.self) { try lab.reopened("a") }
    #expect(error?.code == .incompatibleTable)
    #expect(error?.message.hasPrefix("the table P ") == true && error?.message.contains("named rowid") == true)
    try lab.shell("a", "ALTER TABLE P RENAME COLUMN RowID TO mine")
    let store = try lab.reopened("a")
    try store.run("UPDATE P SET name = 'after'")
    try store.sync(with: lab.b)
    try expectConverged(store, lab.b)
    #expect(try Lab.text(lab.b, "SELECT name FROM P") == "after")
  }

  /// INTEGER PRIMARY KEY DESC is no other name for SQLite's own number, and a number that is not alone in the key
  /// neither; as the primary key alone it is.
  @Test(arguments: [
    ("rowid INTEGER PRIMARY KEY DESC", false), ("rowid INTEGER, pos2 INTEGER, PRIMARY KEY(rowid, pos2)", false),
    ("rowid INTEGER, PRIMARY KEY(rowid)", true),
  ])
  func aNumberOfRowsIsTakenOrNamedAtOpening(_ columns: String, isTaken: Bool) throws {
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')")
    try lab.a.close()
    try lab.shell(
      "a", "CREATE TABLE P2 AS SELECT * FROM P", "DROP TABLE P",
      "CREATE TABLE P(id TEXT NOT NULL UNIQUE, name, pos, icon, at, settings, tally_clock BLOB, \(columns))",
      "INSERT INTO P(id, name, pos, icon, at, settings, tally_clock) SELECT id, name, pos, icon, at, settings, tally_clock FROM P2",
      "DROP TABLE P2")
    guard isTaken else {
      let error = #expect(throws: StoreError.self) { try lab.reopened("a") }
      #expect(error?.code == .incompatibleTable)
      #expect(error?.message.contains("named rowid") == true)
      return
    }
    let store = try lab.reopened("a")
    try store.run("UPDATE P SET name = 'after'")
    try store.sync(with: lab.b)
    try expectConverged(store, lab.b)
    #expect(try Lab.text(lab.b, "SELECT name FROM P") == "after")
  }

  /// The table has taken the registers of the earlier life with it, and other devices still have them.
  @Test(arguments: CapturePath.allCases)
  func aRecordWrittenAgainAfterItsTableWasDroppedHasNothingOfItsEarlierLife(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1)")
    try lab.sync()
    let sql = try #require(try Lab.text(lab.b, "SELECT sql FROM sqlite_master WHERE name = 'P'"))
    try lab.b.run("DROP TABLE P", sql)
    try lab.b.run("INSERT INTO P(id, pos) VALUES('P|~|1', 2)")
    try lab.sync()
    try expectConverged(lab.a, lab.b)
    for store in [lab.a, lab.b] {
      #expect(try Lab.text(store, "SELECT coalesce(name, 'none') || pos FROM P") == "none2")
    }
  }

  /// What waited for a record that is not there went with its table.
  @Test(arguments: CapturePath.allCases) func aTableThatIsDroppedTakesWhatWasListedOfItsRows(_ path: CapturePath) throws
  {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id) VALUES('P|~|1')", "INSERT INTO G(id, friend) VALUES('G|~|1', 'P|~|1')")
    try lab.shell("a", "DELETE FROM P")
    try lab.sync()
    #expect(try Lab.text(lab.b, "SELECT coalesce(friend, 'none') FROM G") == "none")
    let sql = try #require(try Lab.text(lab.b, "SELECT sql FROM sqlite_master WHERE name = 'G'"))
    for insert in [[], ["INSERT INTO G(id, name) VALUES('G|~|1', 'again')"]] {
      try lab.b.run("DROP TABLE G", sql)
      for statement in insert { try lab.b.run(statement) }
      // The next transaction finds what went.
      try lab.b.run("SELECT 1")
      let problems = try lab.b.verify().problems
      #expect(problems == [])
    }
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.a, "SELECT name FROM G") == "again")
  }

  @Test(arguments: CapturePath.allCases) func captureGoesOnBesideATemporaryTableOfTheSameName(_ path: CapturePath)
    throws
  {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')")
    let sql = try #require(try Lab.text(lab.a, "SELECT sql FROM sqlite_master WHERE name = 'P'"))
    try lab.a.run("CREATE TEMP TABLE P(id TEXT, name TEXT)")
    try lab.shell(
      "a", sql.replacing("CREATE TABLE \"P\"", with: "CREATE TABLE new"), "INSERT INTO new SELECT * FROM P",
      "DROP TABLE P", "ALTER TABLE new RENAME TO P")
    try lab.a.run("UPDATE main.P SET name = 'app'")
    try lab.shell("a", "UPDATE P SET pos = 2")
    try lab.sync()
    try expectConverged(lab.a, lab.b)
    #expect(try lab.a.verify().problems == [])
    #expect(try Lab.text(lab.b, "SELECT name || pos FROM P") == "app2")
  }

  /// What a trigger noted of a row was only what changed, and the rest went with the table.
  @Test(arguments: CapturePath.allCases) func aTableThatIsDroppedAfterAnOutsideWriteLeavesTheSumRight(
    _ path: CapturePath
  ) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1)")
    let sql = try #require(try Lab.text(lab.a, "SELECT sql FROM sqlite_master WHERE name = 'P'"))
    try lab.shell("a", "UPDATE P SET pos = 2", "DROP TABLE P", sql)
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.rows(lab.b, "P").isEmpty)
  }

  /// A record that the dropped rows kept out shows again, and a trigger answers it.
  @Test(arguments: CapturePath.allCases) func whatADroppedTableLetsInIsCapturedWithWhatTriggersAnswer(
    _ path: CapturePath
  ) throws {
    let lab = try Lab(path)
    let born = "CREATE TRIGGER app_born AFTER INSERT ON P BEGIN UPDATE P SET pos = 3 WHERE id = NEW.id; END"
    let index = "CREATE UNIQUE INDEX app_one ON P(lower(name))"
    try lab.b.run(born, index, "INSERT INTO P(id, name) VALUES('P|~|1', 'same')")
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|2', 'same')")
    try lab.sync()
    let sql = try #require(try Lab.text(lab.b, "SELECT sql FROM sqlite_master WHERE name = 'P'"))
    try lab.b.run("DROP TABLE P", sql, born, index)
    try lab.b.run("SELECT 1")
    #expect(try lab.b.verify().problems == [])
    try lab.sync()
    try lab.sync()
    try lab.expectEqual()
  }

  static let clauses = ["REPLACE", "IGNORE", "FAIL", "ROLLBACK"]

  /// What a constraint of the app's table says of conflicts is for the app's own writes. A merge that let SQLite delete
  /// the other row would lose a record that nobody has deleted.
  @Test(arguments: clauses, CapturePath.allCases)
  func aTableThatResolvesConflictsByItselfLosesNothing(_ clause: String, _ path: CapturePath) throws {
    let lab = try Lab(path)
    let name = "P|~|386c1919-5f25-4be2-975f-5b34506c51"
    let sql = try #require(try Lab.text(lab.b, "SELECT sql FROM sqlite_master WHERE name = 'P'"))
    let rebuilt = sql.replacing("CREATE TABLE \"P\"", with: "CREATE TABLE rebuilt").replacing(
      "\"name\" TEXT", with: "\"name\" TEXT UNIQUE ON CONFLICT \(clause)")
    #expect(rebuilt.contains("ON CONFLICT"))
    try lab.b.close()
    try lab.shell("b", rebuilt, "DROP TABLE P", "ALTER TABLE rebuilt RENAME TO P")
    let b = try lab.reopened("b")
    try b.run("INSERT INTO P(id, name, pos) VALUES('\(name)0b', 'same', 99), ('\(name)0c', 'other', 98)")
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('\(name)0a', 'same', 1)")
    try b.apply(try lab.a.delta())
    try lab.a.sync(with: b)
    try expectConverged(lab.a, b)
    #expect(try Lab.text(lab.a, "SELECT group_concat(pos) FROM (SELECT pos FROM P ORDER BY pos)") == "1,98,99")
    #expect(try b.status().setAside.count == 1)
    // And where an update brings the value.
    try lab.a.run("UPDATE P SET name = 'other', pos = 2 WHERE id = '\(name)0a'")
    try lab.a.sync(with: b)
    try expectConverged(lab.a, b)
    #expect(try Lab.text(lab.a, "SELECT group_concat(pos) FROM (SELECT pos FROM P ORDER BY pos)") == "2,98,99")
    #expect(try b.status().setAside.count == 1)
    // The app's own writes do what the table says.
    if clause == "REPLACE" {
      try b.run("INSERT INTO P(id, name, pos) VALUES('\(name)0d', 'same', 7)")
      try lab.a.sync(with: b)
      try expectConverged(lab.a, b)
      #expect(try Lab.text(lab.a, "SELECT group_concat(pos) FROM (SELECT pos FROM P ORDER BY pos)") == "2,7,98")
    }
  }

  /// Whoever drops a table has deleted nothing: the store says that it is damaged, and the next sync heals it.
  @Test(arguments: ["P", "G", "F", "G_players"], CapturePath.allCases)
  func aTableThatWasDroppedIsDamageAndNoDelete(_ table: String, _ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(
      "INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')",
      "INSERT INTO F(id, name) VALUES('F|~|1', 'f')")
    try lab.a.run(
      "INSERT INTO G(id, owner) VALUES('G|~|1', 'P|~|1')",
      "INSERT INTO G_players(source, target) VALUES('G|~|1', 'P|~|2')")
    try lab.a.sync(with: lab.b)
    let before = try lab.b.summary()
    let objects = """
      SELECT group_concat(name) FROM (SELECT name FROM sqlite_master WHERE type <> 'trigger' ORDER BY name)
      """
    let all = try Lab.text(lab.a, objects)
    try lab.a.close()
    try lab.shell("a", "DROP TABLE \"\(table)\"")
    let store = try lab.reopened("a")
    #expect(try Lab.text(store, objects) == all)
    #expect(try store.doubt()?.level == .damaged)
    #expect(try store.doubt()?.reason.contains(table) == true)
    #expect(throws: StoreError.self) { try store.delta() }
    try store.run("INSERT INTO F(id, name) VALUES('F|~|2', 'written meanwhile')")
    try store.sync(with: lab.b)
    try expectConverged(store, lab.b)
    #expect(try store.doubt() == nil)
    #expect(try lab.b.summary().vector.covers(before.vector))
    for other in [store, lab.b] {
      #expect(try Lab.text(other, "SELECT group_concat(id) FROM (SELECT id FROM P ORDER BY id)") == "P|~|1,P|~|2")
      #expect(try Lab.text(other, "SELECT group_concat(id) FROM (SELECT id FROM F ORDER BY id)") == "F|~|1,F|~|2")
      #expect(try Lab.text(other, "SELECT owner FROM G") == "P|~|1")
      #expect(try Lab.text(other, "SELECT target FROM G_players") == "P|~|2")
    }
  }

  /// What refers to a table of the app's own goes with its rows, as SQLite says: that is the app's delete.
  @Test(arguments: CapturePath.allCases) func aColumnOfTheAppsOwnMayReferToItsOwnTable(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.write { db in
      try db.execute(sql: "CREATE TABLE album(n INTEGER PRIMARY KEY); INSERT INTO album VALUES(1)")
      try db.execute(sql: "ALTER TABLE P ADD COLUMN album INTEGER REFERENCES album(n) ON DELETE CASCADE")
    }
    let store = try lab.reopened("a")
    try store.run("INSERT INTO P(id, name, album) VALUES('P|~|1', 'one', 1), ('P|~|2', 'two', NULL)")
    try store.sync(with: lab.b)
    try store.run("DELETE FROM album")
    try store.sync(with: lab.b)
    try expectConverged(store, lab.b)
    #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM P") == "P|~|2")
  }
}
