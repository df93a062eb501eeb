import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyStore
import TallyWire
import TestEffort
import Testing

/// What a person can write with legal SQL, at any moment: nothing of it may lead a store astray. Each once with
/// SQLite's hook and once with triggers alone.
@Suite struct LegalSQLTests {
  // MARK: Outside writes that are pending

  @Test(arguments: CapturePath.allCases) func anOutsideDeleteBeforeAMergeGivesWayToAConcurrentEdit(_ path: CapturePath)
    throws
  {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|x', 'one')")
    try lab.sync()
    let since = try lab.a.vector
    try lab.b.run("UPDATE P SET name = 'edited'")
    let delta = try lab.b.delta(since: since)
    try lab.shell("a", "DELETE FROM P")
    try lab.a.apply(delta)
    #expect(try lab.a.verify().problems == [])
    #expect(try Lab.text(lab.a, "SELECT name FROM P") == "edited")
    try lab.sync()
    try lab.expectEqual()
  }

  @Test(arguments: CapturePath.allCases) func aRestoreBringsBackWhatAnOutsideConnectionHasJustDeleted(
    _ path: CapturePath
  ) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|x', 'one')")
    try lab.shell("a", "DELETE FROM P")
    try lab.a.restore(AnyRecordName("P|~|x"))
    #expect(try Lab.text(lab.a, "SELECT name FROM P") == "one")
    try lab.sync()
    try lab.expectEqual()
  }

  @Test(arguments: CapturePath.allCases) func anUpgradeShowsNewFieldsOfRowsThatWereWrittenMeanwhile(_ path: CapturePath)
    throws
  {
    let old = Schema([EntitySchema("P", .text("name"))])
    let new = Schema([EntitySchema("P", .text("name"), .integer("age", default: 5))])
    let lab = try Lab(path, new)
    let c = try lab.scratch.store("c", schema: old, options: Lab.options(path))
    try lab.a.run("INSERT INTO P(id, name, age) VALUES('P|~|x', 'one', 9)")
    try lab.a.sync(with: c)
    try c.close()
    try lab.shell("c", "UPDATE P SET name = 'meanwhile'")
    let upgraded = try lab.reopened("c", new)
    #expect(try Lab.text(upgraded, "SELECT age FROM P") == "9")
    #expect(try upgraded.verify().problems == [])
  }

  // MARK: Names that move

  @Test(arguments: CapturePath.allCases) func aChildMayTakeTheNameOfTheFolderThatHeldIt(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(
      "INSERT INTO F(id, name) VALUES('F|~|A', 'A')", "INSERT INTO F(id, name, parent) VALUES('F|~|B', 'B', 'F|~|A')")
    try lab.a.run("UPDATE F SET name = 'B2' WHERE id = 'F|~|B'")
    try lab.sync()
    try lab.shell(
      "a", "DELETE FROM F WHERE id = 'F|~|A'", "UPDATE F SET id = 'F|~|A', parent = NULL WHERE id = 'F|~|B'")
    #expect(try lab.a.verify().problems == [])
    try lab.sync()
    try lab.expectEqual()
    try lab.a.run("INSERT INTO F(id, name, parent) VALUES('F|~|C', 'C', 'F|~|A')")
    try lab.a.run(
      "UPDATE F SET parent = NULL WHERE id = 'F|~|C'", "DELETE FROM F WHERE id = 'F|~|A'",
      "UPDATE F SET id = 'F|~|A' WHERE id = 'F|~|C'")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.rows(lab.b, "F").count == 1)
  }

  @Test(arguments: CapturePath.allCases) func namesMayBeSwappedAndReplaced(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two'), ('P|~|3', 'three')")
    try lab.a.run("UPDATE P SET pos = 1 WHERE id = 'P|~|1'")
    try lab.a.run(
      "UPDATE P SET id = 'P|~|t' WHERE id = 'P|~|1'", "UPDATE P SET id = 'P|~|1' WHERE id = 'P|~|2'",
      "UPDATE P SET id = 'P|~|2' WHERE id = 'P|~|t'")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT name FROM P WHERE id = 'P|~|2'") == "one")
    try lab.a.run("UPDATE OR REPLACE P SET id = 'P|~|2' WHERE id = 'P|~|3'")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT name FROM P WHERE id = 'P|~|2'") == "three")
  }

  /// RAISE(IGNORE) ends the statement for all triggers that would have come after it, and the row stays.
  @Test(arguments: CapturePath.allCases) func aRowOfWhichLaterTriggersNeverHearIsCaptured(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(
      "CREATE TRIGGER app_no AFTER INSERT ON P WHEN NEW.name = 'bad' BEGIN SELECT RAISE(IGNORE); END",
      "INSERT INTO G(id) VALUES('G|~|1')",
      "CREATE TRIGGER app_none AFTER INSERT ON G_players BEGIN SELECT RAISE(IGNORE); END")
    try lab.a.run(
      "INSERT INTO P(id, name) VALUES('P|~|1', 'bad')", "INSERT INTO G_players(source, target) VALUES('G|~|1', 'P|~|1')"
    )
    try lab.shell(
      "a", "INSERT INTO P(id, name) VALUES('P|~|2', 'bad')",
      "INSERT INTO G_players(source, target) VALUES('G|~|1', 'P|~|2')")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT group_concat(target) FROM G_players") == "P|~|1,P|~|2")
  }

  // MARK: References that SQLite miscounts

  /// SQLite 3.40.1 takes one off its count of open references, and plain SQLite commits the dangling one.
  @Test(arguments: CapturePath.allCases) func aRowThatRefersToItselfHidesNoDanglingReference(_ path: CapturePath) throws
  {
    let schema = Schema([EntitySchema("F", .text("name"), .reference("twin", to: "F"), .reference("other", to: "F"))])
    let lab = try Lab(path, schema)
    try lab.a.run("INSERT INTO F(id, twin) VALUES('F|~|1', 'F|~|1'), ('F|~|2', NULL)")
    let dangling = "UPDATE F SET other = 'F|~|none' WHERE id = 'F|~|2'"
    for update in ["UPDATE F SET id = 'F|~|1' WHERE id = 'F|~|1'", "UPDATE OR REPLACE F SET id = id, name = 'self'"] {
      for statements in [[dangling, update], [update, dangling]] {
        let error = try #require(throws: StoreError.self) {
          try lab.a.write { db in for statement in statements { try db.execute(sql: statement) } }
        }
        #expect(error.code == .danglingReference)
      }
      try lab.a.run(update)
    }
    try lab.sync()
    try lab.expectEqual(["F"])
  }

  // MARK: Indexes of the app's

  @Test(arguments: CapturePath.allCases) func anIndexOnAnExpressionStopsNothing(_ path: CapturePath) throws {
    let lab = try Lab(path)
    for store in [lab.a, lab.b] {
      try store.run(
        "CREATE INDEX byname ON P(lower(name))",
        "CREATE TABLE audit(what TEXT)",
        "CREATE TRIGGER touched AFTER UPDATE ON P BEGIN INSERT INTO audit VALUES(NEW.name); END")
    }
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'One')")
    try lab.a.run("UPDATE P SET name = 'Two'")
    try lab.shell("a", "INSERT INTO P(id, name) VALUES('P|~|2', 'Outside')")
    try lab.sync()
    try lab.b.run("UPDATE P SET name = 'Three' WHERE id = 'P|~|1'", "DELETE FROM P WHERE id = 'P|~|2'")
    try lab.sync()
    try lab.expectEqual()
    try lab.a.run("INSERT INTO G(id, name, owner) VALUES('G|~|1', 'g', 'P|~|1')")
    try lab.b.run("DELETE FROM P")
    try lab.sync()
    try lab.expectEqual()
  }

  @Test(arguments: CapturePath.allCases) func whatReplaceRemovesFromARelationshipIsReplicated(_ path: CapturePath)
    throws
  {
    let lab = try Lab(path)
    try lab.a.run("CREATE UNIQUE INDEX one ON G_players(source)")
    try lab.a.run("INSERT INTO P(id) VALUES('P|~|1'), ('P|~|3')", "INSERT INTO G(id) VALUES('G|~|1')")
    try lab.a.run("INSERT INTO G_players(source, target) VALUES('G|~|1', 'P|~|1')")
    try lab.sync()
    try lab.a.run("INSERT OR REPLACE INTO G_players(source, target) VALUES('G|~|1', 'P|~|3')")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.rows(lab.b, "G_players") == ["'G|~|1','P|~|3'"])
    try lab.shell("a", "INSERT OR REPLACE INTO G_players(source, target) VALUES('G|~|1', 'P|~|1')")
    try lab.sync()
    try lab.expectEqual()
  }

  // MARK: Missing triggers

  @Test(arguments: CapturePath.allCases) func captureTriggersThatAreGoneAreMadeAgain(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|gone', 'gone')")
    try lab.sync()
    try lab.shell(
      "a", "DROP TRIGGER tally_P_update", "DROP TRIGGER tally_P_insert", "DROP TRIGGER tally_P_delete",
      "INSERT INTO P(id, name) VALUES('P|~|2', 'two')", "DELETE FROM P WHERE id = 'P|~|gone'")
    try lab.a.run("UPDATE P SET name = 'after' WHERE id = 'P|~|1'")
    try lab.shell("a", "UPDATE P SET pos = 3 WHERE id = 'P|~|1'")
    for _ in 0..<2 { try lab.sync() }
    try lab.expectEqual()
    #expect(try Lab.rows(lab.b, "P") == Lab.rows(lab.a, "P"))
    #expect(try Lab.text(lab.b, "SELECT name || pos FROM P WHERE id = 'P|~|1'") == "after3")
    #expect(try Lab.text(lab.b, "SELECT count(*) FROM P") == "2")
  }

  @Test(arguments: CapturePath.allCases) func aTableMayBeBuiltAnew(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')")
    let sql = try #require(try Lab.text(lab.a, "SELECT sql FROM sqlite_master WHERE name = 'P'"))
    try lab.a.run(
      sql.replacingOccurrences(of: "CREATE TABLE \"P\"", with: "CREATE TABLE rebuilt"),
      "INSERT INTO rebuilt SELECT * FROM P", "DROP TABLE P", "ALTER TABLE rebuilt RENAME TO P")
    try lab.a.run("UPDATE P SET name = 'after'")
    try lab.shell("a", "UPDATE P SET pos = 2")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT name || pos FROM P") == "after2")
  }

  /// SQLite knows nothing of the references in such a table, so it cannot say whether one dangles.
  @Test(arguments: CapturePath.allCases) func aTableBuiltAnewWithoutItsReferencesShowsNoneThatDangles(
    _ path: CapturePath
  ) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')")
    try lab.a.run("INSERT INTO G(id, name, friend) VALUES('G|~|0', 'before', 'P|~|1')")
    try lab.sync()
    let sql = try #require(try Lab.text(lab.b, "SELECT sql FROM sqlite_master WHERE name = 'G'"))
    let rebuilt = sql.replacingOccurrences(of: "CREATE TABLE \"G\"", with: "CREATE TABLE rebuilt")
      .replacingOccurrences(of: " REFERENCES \"P\"(id) DEFERRABLE INITIALLY DEFERRED", with: "")
    #expect(!rebuilt.contains("REFERENCES"))
    try lab.b.run(
      rebuilt, "INSERT INTO rebuilt SELECT * FROM G", "DROP TABLE G", "ALTER TABLE rebuilt RENAME TO G")
    try lab.b.run("DELETE FROM P")
    try lab.a.run("INSERT INTO G(id, name, friend) VALUES('G|~|1', 'game', 'P|~|1')")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT min(friend IS NULL) FROM G") == "1")
    let error = #expect(throws: StoreError.self) { try lab.b.run("UPDATE G SET friend = 'P|~|2'") }
    #expect(error?.code == .danglingReference)
  }

  /// SQLite 3.40 opens another column for writing than the one that is named, if such a column stands before it.
  @Test(arguments: CapturePath.allCases, [true, false]) func aVirtualColumnAnywhereIsLeftAlone(
    _ path: CapturePath, first: Bool
  ) throws {
    let lab = try Lab(path)
    let sql = try #require(try Lab.text(lab.a, "SELECT sql FROM sqlite_master WHERE name = 'P'"))
    let virtual = "shout TEXT AS (upper(name)) VIRTUAL"
    let start = try #require(sql.firstIndex(of: "("))
    var rebuilt = "CREATE TABLE rebuilt" + sql[start...]
    let place = first ? rebuilt.firstIndex(of: "(").map { rebuilt.index(after: $0) } : rebuilt.lastIndex(of: ")")
    rebuilt.insert(contentsOf: first ? "\(virtual), " : ", \(virtual)", at: try #require(place))
    try lab.a.run(rebuilt, "DROP TABLE P", "ALTER TABLE rebuilt RENAME TO P")
    // Twelve bytes, as a clock has.
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', '07700 900123')")
    try lab.a.run("UPDATE P SET name = '07700 900124', pos = 2")
    try lab.shell("a", "INSERT INTO P(id, name) VALUES('P|~|2', 'twelve bytes')")
    try lab.sync()
    try lab.b.run("UPDATE P SET name = '07700 900125' WHERE pos = 2")
    try lab.sync()
    for store in [lab.a, lab.b] {
      #expect(try store.verify().problems == [])
      #expect(try Lab.text(store, "SELECT group_concat(name) FROM P") == "07700 900125,twelve bytes")
    }
  }

  // MARK: Transactions that end early

  @Test(arguments: CapturePath.allCases) func aWriteThatEndsItsOwnTransactionIsRefusedAndTheStoreIsSound(
    _ path: CapturePath
  ) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')")
    try lab.shell("a", "UPDATE P SET pos = 1")
    #expect(throws: (any Error).self) {
      try lab.a.write { db in
        try db.execute(sql: "UPDATE P SET name = 'lost'")
        try? db.execute(sql: "INSERT OR ROLLBACK INTO P(id) VALUES('P|~|1')")
      }
    }
    #expect(throws: (any Error).self) {
      try lab.a.write { db in
        try db.execute(sql: "UPDATE P SET name = 'kept'")
        try db.execute(sql: "COMMIT")
      }
    }
    try lab.a.run("UPDATE P SET pos = 2")
    #expect(try lab.a.verify().problems == [])
    try lab.sync()
    try lab.expectEqual()
  }

  /// The app catches the error with which SQLite has rolled back, and goes on. What it writes then is no part of the
  /// transaction, and must not become one of its own, in no table.
  @Test(arguments: CapturePath.allCases) func whatFollowsARollbackIsRefused(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("CREATE TABLE own(x)", "INSERT INTO P(id, name) VALUES('P|~|1', 'one')", "CREATE TEMP TABLE aside(x)")
    let before = try lab.a.summary()
    func write(_ db: Database) throws {
      try db.execute(sql: "UPDATE P SET name = 'lost'")
      #expect(throws: DatabaseError.self) { try db.execute(sql: "INSERT OR ROLLBACK INTO P(id) VALUES('P|~|1')") }
      for sql in [
        "UPDATE P SET name = 'alone'", "INSERT INTO own VALUES(1)", "INSERT INTO P(id) VALUES('P|~|2')",
        "CREATE TABLE new(x)", "DELETE FROM P", "INSERT INTO temp.aside VALUES(1)", "BEGIN; DELETE FROM P; COMMIT",
      ] {
        #expect(throws: (any Error).self, "\(sql)") { try db.execute(sql: sql) }
      }
      // A transaction that is left open ends with the write.
      try? db.execute(sql: "ROLLBACK")
      try db.execute(sql: "BEGIN; UPDATE P SET name = 'left open'; INSERT INTO own VALUES(2)")
      _ = try? Row.fetchAll(db, sql: "SELECT * FROM P")
    }
    for _ in 0..<2 {
      #expect(throws: (any Error).self) { try lab.a.write(write) }
      #expect(throws: (any Error).self) { try lab.a.commit(write) }
      let writer: any DatabaseWriter = lab.a
      #expect(throws: (any Error).self) { try writer.write(write) }
    }
    #expect(try lab.a.summary() == before)
    #expect(try Lab.text(lab.a, "SELECT group_concat(name) FROM P") == "one")
    #expect(try Lab.text(lab.a, "SELECT count(*) FROM own") == "0")
    #expect(try Lab.text(lab.a, "SELECT count(*) FROM sqlite_master WHERE name = 'new'") == "0")
    try lab.a.run("UPDATE P SET pos = 2")
    #expect(try lab.a.verify().problems == [])
    try lab.sync()
    try lab.expectEqual()
  }

  // MARK: Schema

  @Test(arguments: CapturePath.allCases) func aRuleThatBecomesOwnershipBreaksTheCyclesThatAreThere(_ path: CapturePath)
    throws
  {
    func schema(_ rule: DeleteRule) -> Schema {
      Schema([EntitySchema("P", .text("name"), .reference("boss", to: "P", onDelete: rule))])
    }
    let lab = try Lab(path, schema(.nullify))
    try lab.a.run("INSERT INTO P(id, name, boss) VALUES('P|~|1', 'a', 'P|~|2'), ('P|~|2', 'b', 'P|~|1')")
    try lab.sync()
    try lab.a.close()
    try lab.b.close()
    let (a, b) = (try lab.reopened("a", schema(.cascade)), try lab.reopened("b", schema(.cascade)))
    try expectConverged(a, b)
    #expect(try Lab.rows(a, "P") == Lab.rows(b, "P"))
    #expect(try Lab.text(a, "SELECT count(*) FROM P WHERE boss IS NULL") == "1")
  }

  @Test(arguments: CapturePath.allCases) func columnsMaySwapTheirNames(_ path: CapturePath) throws {
    let lab = try Lab(path, Schema([EntitySchema("P", .text("x"), .text("y"))]))
    try lab.a.run("INSERT INTO P(id, x, y) VALUES('P|~|1', 'x', 'y')")
    try lab.a.close()
    let swapped = Schema([EntitySchema("P", .text("y", renamedFrom: "x"), .text("x", renamedFrom: "y"))])
    let a = try lab.reopened("a", swapped)
    #expect(try Lab.text(a, "SELECT x || y FROM P") == "yx")
    #expect(try a.verify().problems == [])
    try a.run("UPDATE P SET x = 'new'")
    try a.sync(with: lab.b)
    #expect(try Lab.text(lab.b, "SELECT y FROM P") == "new")
  }

  @Test(arguments: Effort.sample(CapturePath.allCases, 1)) func aTableOfAThousandColumnsIsCaptured(_ path: CapturePath)
    throws
  {
    let fields = (0..<1000).map { FieldSchema("f\($0)", .integer) }
    var entity = EntitySchema("P")
    entity.fields = fields
    let lab = try Lab(path, Schema([entity]))
    try lab.a.run("INSERT INTO P(id, f0, f999) VALUES('P|~|1', 1, 2)")
    try lab.shell("a", "UPDATE P SET f500 = 3")
    try lab.sync()
    #expect(try Lab.text(lab.b, "SELECT f0 || f500 || f999 FROM P") == "132")
    try expectConverged(lab.a, lab.b)
  }

  @Test(arguments: CapturePath.allCases) func aTempTableOfTheSameNameIsNotTheStores(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')")
    try lab.a.run(
      "CREATE TEMP TABLE P AS SELECT * FROM main.P", "UPDATE temp.P SET name = 'temp'",
      "UPDATE main.P SET name = 'main'", "DELETE FROM temp.P")
    try lab.a.run("INSERT INTO main.P(id, name) VALUES('P|~|2', 'two')")
    try lab.a.run("DROP TABLE temp.P")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT group_concat(name) FROM P") == "main,two")
  }

  // MARK: Clocks at their end

  @Test(arguments: CapturePath.allCases) func aWriteOverTheLastOfAllTimesShowsWhatTheStateSays(_ path: CapturePath)
    throws
  {
    let lab = try Lab(path)
    let great = ReplicaID(high: .max, low: .max)
    let stamp = Stamp(time: HybridTime(milliseconds: HybridTime.maximum), dot: Dot(replica: great, sequence: 1))
    var target = StateVector()
    target.include(stamp.dot)
    let name = FieldCell(field: FieldID(rawValue: 0), stamp: stamp, value: .text("forged"))
    let item = DeltaBlock.Record(
      name: try AnyRecordName("P|~|x"), state: RecordState(inserted: stamp, fields: [name]))
    let block = DeltaBlock(records: [.init(type: "P", fields: ["name"], items: [item])], links: [])
    try lab.a.apply(DeltaHeader(base: StateVector(), target: target), [block])
    try lab.a.run("UPDATE P SET name = 'mine'")
    #expect(try lab.a.verify().problems == [])
    try lab.sync()
    try lab.expectEqual()
  }
}
