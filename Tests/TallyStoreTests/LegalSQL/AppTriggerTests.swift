import Foundation
import GRDB
import Tally
import TallyStore
import TallyWire
import Testing

/// Triggers of the app's: they write while the app writes, and while the store does. What they write is captured as a
/// write of its own.
@Suite struct AppTriggerTests {
  @Test(arguments: CapturePath.allCases) func aTriggerThatTouchesTheRowItFiredForLosesNothing(_ path: CapturePath)
    throws
  {
    let lab = try Lab(path)
    let triggers = [
      "CREATE TRIGGER t AFTER UPDATE OF name ON P BEGIN UPDATE P SET pos = coalesce(pos, 0) + 1 WHERE id = NEW.id; END",
      "CREATE TRIGGER t BEFORE UPDATE OF name ON P BEGIN UPDATE P SET pos = 9 WHERE id = NEW.id; END",
      "CREATE TRIGGER t AFTER UPDATE OF name ON P WHEN NEW.name = 'undo' BEGIN UPDATE P SET name = OLD.name WHERE id = NEW.id; END",
      "CREATE TRIGGER t AFTER UPDATE OF name ON P WHEN NEW.name = 'drop' BEGIN DELETE FROM P WHERE id = NEW.id; END",
      "CREATE TRIGGER t AFTER DELETE ON P WHEN OLD.name = 'phoenix' BEGIN INSERT INTO P(id, name) VALUES(OLD.id, 'risen'); END",
      "CREATE TEMP TRIGGER t AFTER UPDATE OF name ON P BEGIN UPDATE P SET pos = 5 WHERE id = NEW.id; END",
    ]
    for trigger in triggers {
      try lab.a.run(trigger)
      try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|x', 'one')")
      try lab.sync()
      for name in ["two", "undo", "drop", "phoenix"] {
        try lab.a.run("UPDATE P SET name = '\(name)'")
        try lab.shell("a", "UPDATE P SET name = name || '!'")
        try lab.sync()
        try lab.expectEqual()
      }
      try lab.a.run("UPDATE P SET name = 'phoenix'", "DELETE FROM P")
      try lab.sync()
      try lab.expectEqual()
      try lab.a.run("DROP TRIGGER t", "DELETE FROM P")
    }
  }

  /// An app may distrust the schema of its file, and turn the order of unordered reads around to find its own faults.
  @Test(arguments: CapturePath.allCases, ["trusted_schema = OFF", "reverse_unordered_selects = ON"])
  func pragmasThatAreStricterChangeNothing(_ path: CapturePath, _ pragma: String) throws {
    var options = Lab.options(path)
    options.prepareDatabase = { db in try db.execute(sql: "PRAGMA \(pragma)") }
    let lab = try Lab(path, options: options)
    for store in [lab.a, lab.b] {
      try store.run(
        "CREATE TABLE said(id TEXT, isOurs INTEGER)",
        """
        CREATE TRIGGER t AFTER UPDATE OF name ON P WHEN NOT tally_applying() BEGIN
          INSERT INTO said VALUES(NEW.id, 1);
        END
        """)
    }
    try lab.a.run(
      "INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')",
      "INSERT INTO G(id, owner) VALUES('G|~|1', 'P|~|1'), ('G|~|2', 'P|~|2')",
      "INSERT INTO G_players(source, target) VALUES('G|~|1', 'P|~|2')")
    try lab.sync()
    try lab.a.run("UPDATE P SET name = 'eins' WHERE id = 'P|~|1'")
    try lab.shell("b", "UPDATE P SET pos = 1")
    try lab.b.run("DELETE FROM P WHERE id = 'P|~|2'")
    try lab.sync()
    try lab.a.purge(try AnyRecordName("P|~|2"))
    try lab.sync()
    try lab.expectEqual()
    #expect(
      try Lab.text(lab.a, "SELECT count(*) FROM said") == "1" && Lab.text(lab.b, "SELECT count(*) FROM said") == "0")
    for name in ["a", "b"] {
      let store = try lab.scratch.store(name, schema: Lab.schema, options: options)
      #expect(try store.verify().problems == [] && store.doubt() == nil)
      #expect(try store.delta() == (name == "a" ? lab.a : lab.b).delta())
    }
  }

  @Test(arguments: CapturePath.allCases) func aCountThatATriggerKeepsDuringAMergeIsCaptured(_ path: CapturePath) throws
  {
    let lab = try Lab(path)
    for store in [lab.a, lab.b] {
      try store.run(
        """
        CREATE TRIGGER counting AFTER INSERT ON G BEGIN
          UPDATE P SET pos = (SELECT count(*) FROM G WHERE owner = NEW.owner) WHERE id = NEW.owner;
        END
        """)
    }
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|p1', 'p')")
    try lab.sync()
    for round in 0..<3 {
      try lab.a.run(
        "INSERT INTO G(id, name, owner) VALUES('G|~|\(round)', 'n', 'P|~|p1')", "UPDATE P SET name = 'r\(round)'")
      for _ in 0..<3 { try lab.sync() }
      try lab.expectEqual()
    }
    #expect(try Lab.text(lab.b, "SELECT pos FROM P") == "3")
  }

  /// The trigger edits an owner while what it owns is being hidden with it, and the edit brings the owner back.
  /// It fires while the app's writes are captured, when nobody would take in what it writes.
  @Test func whatATriggerOnATableOfTheStoresWritesIsRefused() throws {
    let lab = try Lab(.hook)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1), ('P|~|2', 'two', 2)")
    try lab.a.run("CREATE TRIGGER app_body AFTER INSERT ON tally_extra BEGIN UPDATE P SET pos = pos + 10; END")
    let error = try #require(throws: StoreError.self) {
      try lab.a.run("UPDATE P SET name = 'first' WHERE id = 'P|~|1'")
    }
    #expect(error.code == .transactionEnded)
    #expect(try Lab.rows(lab.a, "P").count == 2)
    #expect(try Lab.text(lab.a, "SELECT name || pos FROM P ORDER BY id") == "one1")
    #expect(try lab.a.verify().problems == [])
    try lab.sync()
    try lab.expectEqual()
  }

  @Test(arguments: CapturePath.allCases) func anOwnerThatATriggerBringsBackKeepsWhatItOwns(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, pos) VALUES('P|~|1', 1), ('P|~|2', 2)")
    try lab.sync()
    try lab.a.run(
      "CREATE TRIGGER app_out AFTER DELETE ON G BEGIN UPDATE P SET pos = pos + 10 WHERE id = OLD.owner; END")
    try lab.b.run("INSERT INTO G(id, owner, friend) VALUES('G|~|1', 'P|~|1', 'P|~|2')")
    try lab.b.run("DELETE FROM P")
    try lab.sync()
    try lab.sync()
    try lab.expectEqual()
  }

  @Test(arguments: CapturePath.allCases) func aGuardedTriggerWritesNothingWhileTheStoreApplies(_ path: CapturePath)
    throws
  {
    let lab = try Lab(path)
    for store in [lab.a, lab.b] {
      try store.run(
        """
        CREATE TRIGGER edits AFTER UPDATE OF name ON P WHEN NOT tally_applying() BEGIN
          UPDATE P SET pos = coalesce(pos, 0) + 1 WHERE id = NEW.id;
        END
        """)
    }
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|x', 'one')")
    try lab.sync()
    try lab.a.run("UPDATE P SET name = 'two'")
    try lab.b.run("UPDATE P SET name = 'three'")
    #expect(try lab.a.sync(with: lab.b).isConverged)
    try lab.expectEqual()
    #expect(try Lab.text(lab.a, "SELECT pos FROM P") == "1")
    #expect(try Lab.text(lab.b, "SELECT tally_applying()") != nil)
  }

  /// On the trigger path a row of the store's own is known by the clock that was announced, and a transaction that is
  /// rolled back takes the announcement along.
  @Test(arguments: CapturePath.allCases) func aMergeAfterOneThatFailedIsNoWriteOfTheApps(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, pos) VALUES('P|~|1', 1)")
    try lab.sync()
    try lab.a.run("UPDATE P SET pos = 2")
    let delta = try lab.a.delta(since: lab.b.vector)
    #expect(throws: WireError.self) { try lab.b.apply(Array(delta.dropLast())) }
    try lab.b.apply(delta)
    #expect(try lab.b.vector == lab.a.vector)
    try lab.expectEqual()
  }

  @Test(arguments: CapturePath.allCases) func triggersFireAsBefore(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(
      "CREATE TABLE audit(n INTEGER PRIMARY KEY, what TEXT)",
      "CREATE TRIGGER one AFTER INSERT ON P BEGIN INSERT INTO audit(what) VALUES('one'); END",
      "CREATE TRIGGER two AFTER INSERT ON P BEGIN INSERT INTO audit(what) VALUES('two'); END",
      "CREATE TRIGGER deep AFTER INSERT ON audit WHEN NEW.what = 'two' BEGIN UPDATE P SET pos = 1; END",
      "CREATE TRIGGER deny BEFORE INSERT ON P WHEN NEW.name = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END",
      "CREATE TRIGGER skip BEFORE INSERT ON P WHEN NEW.name = 'skip' BEGIN SELECT RAISE(IGNORE); END",
      "CREATE VIEW names AS SELECT name FROM P",
      "CREATE TRIGGER through INSTEAD OF INSERT ON names BEGIN INSERT INTO P(id, name) VALUES('P|~|v', NEW.name); END")
    let plain = try DatabaseQueue()
    try plain.write { db in
      try db.execute(
        sql: """
          CREATE TABLE P(id TEXT PRIMARY KEY, name TEXT, pos INTEGER);
          CREATE TABLE audit(n INTEGER PRIMARY KEY, what TEXT);
          CREATE TRIGGER one AFTER INSERT ON P BEGIN INSERT INTO audit(what) VALUES('one'); END;
          CREATE TRIGGER two AFTER INSERT ON P BEGIN INSERT INTO audit(what) VALUES('two'); END;
          """)
    }
    let changes = try lab.a.write { db in
      try db.execute(sql: "INSERT INTO P(id, name) VALUES('P|~|1', 'a')")
      return db.changesCount
    }
    try plain.write { try $0.execute(sql: "INSERT INTO P(id, name) VALUES('P|~|1', 'a')") }
    let order = try plain.read { try String.fetchAll($0, sql: "SELECT what FROM audit ORDER BY n") }
    #expect(try lab.a.read { try String.fetchAll($0, sql: "SELECT what FROM audit ORDER BY n") } == order)
    #expect(changes == 1)
    #expect(throws: DatabaseError.self) { try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|2', 'bad')") }
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|3', 'skip')", "INSERT INTO names VALUES('viewed')")
    #expect(try Lab.rows(lab.a, "P").count == 2)
    #expect(try Lab.text(lab.a, "SELECT pos FROM P WHERE id = 'P|~|1'") == "1")
    try lab.sync()
    try lab.expectEqual()
  }

  @Test(arguments: CapturePath.allCases) func aTriggerFiresFromTheStatementAfterTheOneThatMakesIt(_ path: CapturePath)
    throws
  {
    let lab = try Lab(path)
    try lab.a.write { db in
      try db.execute(sql: "INSERT INTO P(id, name) VALUES('P|~|1', 'before')")
      try db.execute(sql: "CREATE TRIGGER t AFTER INSERT ON P BEGIN UPDATE P SET pos = 1 WHERE id = NEW.id; END")
      try db.execute(sql: "INSERT INTO P(id, name) VALUES('P|~|2', 'after')")
      try db.execute(sql: "DROP TRIGGER t")
      try db.execute(sql: "INSERT INTO P(id, name) VALUES('P|~|3', 'later')")
    }
    #expect(
      try Lab.text(lab.a, "SELECT group_concat(coalesce(pos, 0), '') FROM (SELECT pos FROM P ORDER BY id)") == "010")
    try lab.sync()
    try lab.expectEqual()
  }
}
