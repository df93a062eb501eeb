import Foundation
import GRDB
import Tally
import TallyStore
import Testing

/// Rows that SQLite does not take from a merge: one is set aside, everything else goes on.
@Suite struct SetAsideTests {
  @Test(arguments: CapturePath.allCases) func uniqueValuesMaySwapAndRotate(_ path: CapturePath) throws {
    let lab = try Lab(path)
    for store in [lab.a, lab.b] { try store.run("CREATE UNIQUE INDEX place ON P(pos)") }
    try lab.a.run("INSERT INTO P(id, pos) VALUES('P|~|1', 1), ('P|~|2', 2), ('P|~|3', 3)")
    try lab.a.run("INSERT INTO G(id, owner) VALUES('G|~|1', 'P|~|1')")
    try lab.sync()
    try lab.a.run(
      "UPDATE P SET pos = 10 WHERE id = 'P|~|1'", "UPDATE P SET pos = 1 WHERE id = 'P|~|2'",
      "UPDATE P SET pos = 2 WHERE id = 'P|~|3'", "UPDATE P SET pos = 3 WHERE id = 'P|~|1'")
    try lab.sync()
    try lab.expectEqual()
    #expect(try lab.b.status().setAside.isEmpty)
    #expect(try Lab.text(lab.b, "SELECT group_concat(pos) FROM (SELECT pos FROM P ORDER BY id)") == "3,1,2")
  }

  @Test(arguments: CapturePath.allCases) func rowsStayWhileTheirUniqueValuesMove(_ path: CapturePath) throws {
    let lab = try Lab(path)
    for store in [lab.a, lab.b] {
      try store.run(
        "CREATE UNIQUE INDEX place ON P(pos)", "CREATE UNIQUE INDEX named ON P(name) WHERE name <> ''",
        "CREATE UNIQUE INDEX starred ON F(name)",
        "CREATE TABLE note(record TEXT, FOREIGN KEY(record) REFERENCES P(id) ON DELETE CASCADE)",
        "CREATE TABLE mark(record TEXT, FOREIGN KEY(record) REFERENCES F(id) ON DELETE CASCADE)")
    }
    try lab.a.run(
      "INSERT INTO P(id, pos, name) VALUES('P|~|1', 1, 'a'), ('P|~|2', 2, 'b'), ('P|~|3', 3, 'c')",
      "INSERT INTO F(id, name) VALUES('F|~|1', 'x'), ('F|~|2', 'y')")
    try lab.sync()
    try lab.b.run(
      "INSERT INTO note SELECT id FROM P", "INSERT INTO mark SELECT id FROM F")
    try lab.a.run(
      "UPDATE P SET pos = 10 WHERE id = 'P|~|1'", "UPDATE P SET pos = 1 WHERE id = 'P|~|2'",
      "UPDATE P SET pos = 2 WHERE id = 'P|~|3'", "UPDATE P SET pos = 3 WHERE id = 'P|~|1'",
      "UPDATE P SET name = '-' WHERE id = 'P|~|1'", "UPDATE P SET name = 'a' WHERE id = 'P|~|3'",
      "UPDATE P SET name = 'c' WHERE id = 'P|~|1'",
      "UPDATE F SET name = '-' WHERE id = 'F|~|1'", "UPDATE F SET name = 'x' WHERE id = 'F|~|2'",
      "UPDATE F SET name = 'y' WHERE id = 'F|~|1'")
    try lab.sync()
    try lab.expectEqual()
    #expect(try lab.b.status().setAside.isEmpty)
    #expect(try Lab.text(lab.b, "SELECT group_concat(name || pos) FROM (SELECT * FROM P ORDER BY id)") == "c3,b1,a2")
    // What the app keeps beside the records was not touched: no row went, even for a moment.
    #expect(try Lab.text(lab.b, "SELECT count(*) FROM note") == "3")
    #expect(try Lab.text(lab.b, "SELECT count(*) FROM mark") == "2")
  }

  /// A record that may not go and refers to itself, directly or through another, is looked at again and again no more
  /// than any other.
  @Test(
    arguments: [1, 2],
    [
      ["CREATE TABLE seat(person TEXT REFERENCES P(id))", "INSERT INTO seat SELECT id FROM P"],
      ["CREATE TRIGGER stays BEFORE DELETE ON P BEGIN SELECT RAISE(ABORT, 'stays'); END"],
    ]) func recordsThatReferToEachOtherAndMayNotGoEndAMerge(_ count: Int, _ keepers: [String]) throws
  {
    let schema = Schema([EntitySchema("P", .text("name"), .reference("boss", to: "P"))])
    let (a, b) = (try Store(inMemory: schema), try Store(inMemory: schema))
    try a.run(
      "INSERT INTO P(id) VALUES('P|~|1'), ('P|~|2')", "DELETE FROM P WHERE id > 'P|~|\(count)'",
      "UPDATE P SET boss = (SELECT max(id) FROM P WHERE id <> P.id)", "UPDATE P SET boss = id WHERE boss IS NULL")
    try a.sync(with: b)
    try b.write { db in for sql in keepers { try db.execute(sql: sql) } }
    try a.run("DELETE FROM P")
    #expect(try a.sync(with: b).isConverged)
    #expect(try b.status().setAside.count == count)
    #expect(try b.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM P") } == count)
  }

  @Test(arguments: CapturePath.allCases) func aValueThatAnotherRecordHoldsForGoodWithholdsTheRow(_ path: CapturePath)
    throws
  {
    let lab = try Lab(path)
    for store in [lab.a, lab.b] { try store.run("CREATE UNIQUE INDEX place ON P(pos)") }
    try lab.a.run("INSERT INTO P(id, pos) VALUES('P|~|1', 1), ('P|~|2', 2)")
    try lab.sync()
    try lab.a.run("UPDATE P SET pos = 7 WHERE id = 'P|~|1'")
    try lab.b.run("UPDATE P SET pos = 7 WHERE id = 'P|~|2'")
    try lab.sync()
    // The earlier claim; in one millisecond the replica ids decide.
    let holder = try #require(try Lab.text(lab.a, "SELECT id FROM P WHERE pos = 7"))
    for store in [lab.a, lab.b] {
      #expect(try Lab.text(store, "SELECT group_concat(id) FROM P WHERE pos = 7") == holder)
      #expect(try Lab.text(store, "SELECT count(*) FROM P") == "1")
      #expect(try store.status().setAside.count == 1)
      #expect(try store.verify().problems == [])
    }
    try lab.a.run("UPDATE P SET pos = 1 WHERE id = '\(holder)'")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT pos FROM P WHERE id = '\(holder)'") == "1")
    #expect(try Lab.text(lab.b, "SELECT count(*) FROM P WHERE pos = 7") == "1")
    #expect(try lab.a.status().setAside.isEmpty && lab.b.status().setAside.isEmpty)
  }

  @Test(arguments: CapturePath.allCases) func aFurtherPartOfALargeRecordCanBeRefused(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.b.run(
      "CREATE TRIGGER plain BEFORE UPDATE OF icon ON P BEGIN SELECT RAISE(ABORT, 'no icons'); END",
      "CREATE TRIGGER plainer BEFORE INSERT ON P WHEN NEW.icon IS NOT NULL BEGIN SELECT RAISE(ABORT, 'no icons'); END")
    // More than goes into one block: the parts have one stamp.
    try lab.a.run("INSERT INTO P(id, name, icon) VALUES('P|~|1', printf('%.*c', 900000, 'x'), randomblob(900000))")
    try lab.sync()
    #expect(try lab.b.status().setAside.count == 1)
    #expect(try lab.b.verify().problems == [])
    try lab.b.run("DROP TRIGGER plain", "DROP TRIGGER plainer")
    try lab.sync()
    try lab.expectEqual()
    #expect(try lab.b.status().setAside.isEmpty)
  }

  @Test(arguments: CapturePath.allCases) func aClashOfTwoAuthorsSetsOneRecordAsideUntilItIsResolved(_ path: CapturePath)
    throws
  {
    let lab = try Lab(path)
    for store in [lab.a, lab.b] { try store.run("CREATE UNIQUE INDEX tag ON P(name)") }
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|a', 'milk')")
    try lab.b.run(
      "INSERT INTO P(id, name) VALUES('P|~|b', 'milk'), ('P|~|c', 'bread')",
      "INSERT INTO G(id, name, owner, friend) VALUES('G|~|1', 'g', 'P|~|b', 'P|~|c'), ('G|~|2', 'h', 'P|~|c', 'P|~|b')")
    #expect(try lab.a.sync(with: lab.b).isConverged)
    #expect(try Lab.text(lab.a, "SELECT count(*) FROM P WHERE name = 'bread'") == "1")
    for store in [lab.a, lab.b] {
      #expect(try store.verify().problems == [])
      #expect(try store.status().setAside.count == 1)
      #expect(try store.status().setAside.first?.reason.contains("UNIQUE") == true)
      #expect(try store.read { try Row.fetchAll($0, sql: "PRAGMA foreign_key_check") }.isEmpty)
    }
    // Which one shows follows from the states, so both devices show the same.
    #expect(try Lab.rows(lab.a, "P") == Lab.rows(lab.b, "P"))
    #expect(try Lab.rows(lab.a, "G") == Lab.rows(lab.b, "G"))
    try lab.a.run("UPDATE P SET name = 'oat milk' WHERE name = 'milk'")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.rows(lab.a, "P").count == 3 && Lab.rows(lab.a, "G").count == 2)
    #expect(try lab.a.status().setAside.isEmpty && lab.b.status().setAside.isEmpty)
  }

  /// In the very commit that takes the rival away: there may be none after it.
  @Test(arguments: CapturePath.allCases) func aRecordShowsAsSoonAsItsRivalIsGone(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.b.run("CREATE UNIQUE INDEX app_one ON P(name)")
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'same')")
    try lab.b.run("INSERT INTO P(id, name) VALUES('P|~|2', 'same')")
    try lab.sync()
    #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM P") == "P|~|1")
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|1'")
    try lab.sync()
    #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM P") == "P|~|2")
    try lab.expectEqual()
  }

  @Test(arguments: CapturePath.allCases) func aTriggerThatRefusesARowHoldsUpNothingElse(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.b.run(
      "CREATE TRIGGER valid BEFORE INSERT ON P WHEN NEW.name = '' BEGIN SELECT RAISE(ABORT, 'a name is wanted'); END",
      "CREATE TRIGGER silent BEFORE INSERT ON P WHEN NEW.name = '-' BEGIN SELECT RAISE(IGNORE); END")
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', ''), ('P|~|2', 'fine'), ('P|~|3', '-')")
    #expect(try lab.a.sync(with: lab.b).isConverged)
    #expect(try Lab.rows(lab.b, "P").count == 1)
    #expect(try lab.b.status().setAside.map(\.reason).contains("a name is wanted"))
    #expect(try lab.b.status().setAside.count == 2)
    #expect(try lab.b.verify().problems == [])
    try lab.a.run("UPDATE P SET name = 'now'")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.rows(lab.b, "P").count == 3)
  }

  @Test(arguments: CapturePath.allCases, ["NO ACTION", "RESTRICT", "NO ACTION DEFERRABLE INITIALLY DEFERRED"])
  func aTableOfTheAppsOwnKeepsTheRecordThatItRefersTo(_ path: CapturePath, _ rule: String) throws {
    let lab = try Lab(path)
    try lab.a.run(
      "INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')",
      "INSERT INTO G(id, owner) VALUES('G|~|1', 'P|~|1')")
    try lab.sync()
    try lab.b.run("CREATE TABLE fav(p TEXT REFERENCES P(id) ON DELETE \(rule))", "INSERT INTO fav VALUES('P|~|1')")
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|1'", "INSERT INTO P(id, name) VALUES('P|~|3', 'three')")
    #expect(try lab.a.sync(with: lab.b).isConverged)
    #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM (SELECT id FROM P ORDER BY id)") == "P|~|1,P|~|2,P|~|3")
    #expect(try lab.b.status().setAside.map(\.row) == ["P|~|1"])
    #expect(try lab.b.verify().problems == [])
    try lab.b.run("DELETE FROM fav")
    try lab.b.run("UPDATE P SET name = 'later' WHERE id = 'P|~|2'")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.rows(lab.b, "P").count == 2)
  }

  @Test(arguments: CapturePath.allCases) func aDriftedSumHealsInOneRepair(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')")
    try lab.sync()
    let replica = try lab.a.summary().replica
    try lab.shell("b", "UPDATE tally_zone SET fingerprint = zeroblob(16)")
    let (a, b) = (try lab.reopened("a"), try lab.reopened("b"))
    try a.sync(with: b)
    #expect(try a.sync(with: b).isConverged)
    try expectConverged(a, b)
    #expect(try a.summary().replica == replica)
  }

  @Test(arguments: CapturePath.allCases) func aValueThatTheDiskChangedGivesWayToAnIntactPeer(_ path: CapturePath) throws
  {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1)")
    try lab.sync()
    try lab.damage("b", "UPDATE P SET name = 'zzz'")
    let full = try lab.a.delta()
    let b = try lab.reopened("b")
    #expect(try b.verify().problems != [])
    try b.apply(full, isRepair: true)
    #expect(try Lab.text(b, "SELECT name FROM P") == "one")
    try expectConverged(lab.a, b)
  }

  @Test(arguments: CapturePath.allCases) func aDeleteOfARecordThatWasJustSetAsideLeavesNothingDangling(
    _ path: CapturePath
  ) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, pos) VALUES('P|~|x', 1)", "INSERT INTO G(id, owner) VALUES('G|~|g', 'P|~|x')")
    try lab.sync()
    try lab.b.run("CREATE UNIQUE INDEX uu ON P(pos)")
    try lab.a.run("UPDATE P SET pos = 9")
    try lab.a.run("DELETE FROM P")
    try lab.a.run("INSERT INTO P(id, pos) VALUES('P|~|a', 9)")
    #expect(try lab.a.sync(with: lab.b).isConverged)
    try lab.expectEqual()
  }

  @Test(arguments: CapturePath.allCases) func aRowThatStaysKeepsWhatItRefersTo(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|x', 'X')", "INSERT INTO G(id, owner) VALUES('G|~|g', 'P|~|x')")
    try lab.sync()
    try lab.b.run("CREATE TABLE fav(g TEXT REFERENCES G(id))", "INSERT INTO fav VALUES('G|~|g')")
    try lab.a.run("DELETE FROM P")
    #expect(try lab.a.sync(with: lab.b).isConverged)
    #expect(try lab.b.verify().problems == [])
    try lab.b.run("DELETE FROM fav")
    for _ in 0..<2 { try lab.sync() }
    try lab.expectEqual()
    #expect(try Lab.rows(lab.b, "G") == [])
  }

  @Test(arguments: CapturePath.allCases) func rowsOfTheAppsThatDangleAnywayHoldUpNothing(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|x', 'X')")
    try lab.sync()
    try lab.b.run(
      "CREATE TABLE book(id INTEGER PRIMARY KEY)", "CREATE TABLE page(b REFERENCES book(id))",
      "CREATE TABLE fav(p TEXT PRIMARY KEY REFERENCES P(id) DEFERRABLE INITIALLY DEFERRED) WITHOUT ROWID",
      "INSERT INTO fav VALUES('P|~|x')")
    try lab.shell("b", "INSERT INTO page VALUES(7)")
    try lab.a.run("DELETE FROM P")
    #expect(try lab.a.sync(with: lab.b).isConverged)
    #expect(try Lab.rows(lab.b, "P").count == 1)
    try lab.shell("b", "DELETE FROM page")
    try lab.b.run("DELETE FROM fav")
    try lab.sync()
    try lab.expectEqual()
  }

  @Test(arguments: CapturePath.allCases) func writingToARecordThatIsSetAsideEditsIt(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.b.run("CREATE UNIQUE INDEX uu ON P(name)", "INSERT INTO P(id, name) VALUES('P|~|r', 'N')")
    try lab.a.run(
      "INSERT INTO P(id, name, pos) VALUES('P|~|n', 'N', 5)", "INSERT INTO G(id, owner) VALUES('G|~|g', 'P|~|n')")
    try lab.a.run("INSERT INTO G_players(source, target) VALUES('G|~|g', 'P|~|n')")
    try lab.sync()
    #expect(try lab.b.status().setAside.map(\.row) == ["P|~|n"])
    try lab.b.run("INSERT INTO P(id, name) VALUES('P|~|n', 'N2') ON CONFLICT(id) DO UPDATE SET name = excluded.name")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.a, "SELECT name || pos FROM P WHERE id = 'P|~|n'") == "N25")
    #expect(try Lab.rows(lab.b, "G_players").count == 1)
  }

  @Test(arguments: CapturePath.allCases) func aNameThatIsNoneKeepsOneRowHere(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|x', 'X'), ('P|~|y', 'Y')")
    try lab.sync()
    try lab.shell("a", "UPDATE P SET id = 'P|~|ü' WHERE id = 'P|~|x'")
    try lab.sync()
    let late = try lab.scratch.store("late", schema: Lab.schema, options: Lab.options(path))
    try lab.a.sync(with: late)
    #expect(try Lab.rows(late, "P").count == 1 && Lab.rows(lab.b, "P").count == 1)
    try lab.shell("a", "UPDATE P SET id = 'P|~|x' WHERE id = 'P|~|ü'")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.rows(lab.b, "P").count == 2)
  }

  @Test(arguments: CapturePath.allCases) func anIndexOnTheClockStopsNothing(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("CREATE INDEX ic ON P(tally_clock)", "INSERT INTO P(id, name) VALUES('P|~|x', 'X')")
    try lab.a.run("UPDATE P SET name = 'Y'")
    try lab.sync()
    try lab.expectEqual()
  }
}
