import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyStore
import Testing

/// Writes at moments when nobody may be listening: after a transaction is over, before the schema changes, and while
/// the store writes itself.
@Suite struct UnheardWriteTests {
  /// The app ignores the error with which SQLite has rolled the transaction back, and begins another one: the beginning
  /// of the write is gone, and with it what was known of the file.
  @Test(arguments: CapturePath.allCases) func aTransactionInPlaceOfOneThatIsOverIsRefused(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("CREATE TABLE own(x PRIMARY KEY)", "INSERT INTO own VALUES(1)")
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')")
    try lab.sync()
    try lab.shell("a", "UPDATE P SET name = 'outside' WHERE id = 'P|~|1'")
    let error = try #require(throws: StoreError.self) {
      try lab.a.write { db in
        _ = try? db.execute(sql: "INSERT OR ROLLBACK INTO own VALUES(1)")
        try db.execute(sql: "BEGIN; UPDATE P SET name = 'another' WHERE id = 'P|~|2'")
      }
    }
    #expect(error.code == .transactionEnded)
    #expect(try lab.a.verify().problems == [])
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT group_concat(name) FROM P ORDER BY id") == "outside,two")
  }

  /// The reason for which a write is not committed.
  enum Failure: CaseIterable { case appThrows, storeThrows, sqliteRefusesCommit, observerRefusesCommit }

  /// Whoever is told that a write has been rolled back may write, also each time that it is told.
  @Test(arguments: Failure.allCases) func whatIsWrittenAfterAFailedWriteIsCaptured(_ failure: Failure) throws {
    let lab = try Lab(.hook)
    try lab.a.run(
      "INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')",
      "CREATE TABLE own(p TEXT REFERENCES P(id) DEFERRABLE INITIALLY DEFERRED)")
    try lab.sync()
    let writer = WriterAfterRollback()
    lab.a.add(transactionObserver: writer, extent: .databaseLifetime)
    #expect(throws: (any Error).self) {
      if failure == .storeThrows { _ = try lab.a.restore(AnyRecordName("P|~|none")) }
      try lab.a.write { db in
        try db.execute(sql: "UPDATE P SET name = 'two again' WHERE id = 'P|~|2'")
        switch failure {
        case .appThrows: throw CancellationError()
        case .sqliteRefusesCommit: try db.execute(sql: "INSERT INTO own VALUES('P|~|none')")
        case .observerRefusesCommit: writer.refusesCommit = true
        case .storeThrows: break
        }
      }
    }
    lab.a.remove(transactionObserver: writer)
    #expect(writer.errors == 0)
    #expect(try lab.a.verify().problems == [])
    try lab.a.run("UPDATE P SET pos = 1")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT group_concat(name) FROM P ORDER BY id") == "late,two")
  }

  /// Behind the entity's columns the app's come and go.
  @Test(arguments: CapturePath.allCases) func columnsBehindTheEntitysMayGoWithinAWrite(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(
      "ALTER TABLE P ADD COLUMN own TEXT", "INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')")
    try lab.sync()
    try lab.a.run(
      "UPDATE P SET pos = 1", "ALTER TABLE P DROP COLUMN own", "UPDATE P SET pos = 2 WHERE id = 'P|~|1'",
      "DELETE FROM P WHERE id = 'P|~|2'")
    #expect(try lab.a.verify().problems == [])
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT group_concat(pos) FROM P") == "2")
  }

  /// A column of the app's goes before others, and the next statement of the same write finds those in another place,
  /// where the hook would take other values. It refuses the write; triggers go by names.
  @Test(arguments: CapturePath.allCases, [1, 3000])
  func valuesOfColumnsThatMoveWithinAWriteAreNotMixedUp(_ path: CapturePath, _ size: Int) throws {
    let later = Schema([EntitySchema("P", .text("name"), .integer("pos"), .integer("age"))])
    let lab = try Lab(path, Schema([EntitySchema("P", .text("name"))]))
    try lab.a.run("ALTER TABLE P ADD COLUMN own TEXT")
    for store in [lab.a, lab.b] { try store.close() }
    let (a, b) = (try lab.reopened("a", later), try lab.reopened("b", later))
    try a.run(
      "ALTER TABLE P ADD COLUMN last TEXT",
      """
      INSERT INTO P(id, name, pos, age) SELECT 'P|~|' || value, printf('%.\(size)c', 'n') || value, value, value
      FROM json_each('[1, 2, 3]')
      """)
    try a.sync(with: b)
    let drop = "ALTER TABLE P DROP COLUMN own"
    let rest = "UPDATE P SET age = 10 WHERE id = 'P|~|1'; DELETE FROM P WHERE id = 'P|~|3'"
    if path == .hook {
      let error = try #require(throws: StoreError.self) { try a.run("\(drop); \(rest)") }
      #expect(error.code == .incompatibleTable)
      #expect(try a.verify().problems == [])
      try a.run(drop)
      try a.run(rest)
    } else {
      try a.run("\(drop); \(rest)")
    }
    #expect(try a.verify().problems == [])
    try a.sync(with: b)
    try expectConverged(a, b)
    #expect(try Lab.text(b, "SELECT group_concat(pos || ' ' || age) FROM P ORDER BY id") == "1 10,2 2")
  }

  /// The app may write when it is told that the tables change.
  @Test(arguments: CapturePath.allCases) func whatIsWrittenBeforeAChangeOfTheSchemaIsCaptured(_ path: CapturePath)
    throws
  {
    let lab = try Lab(path, Schema([EntitySchema("P", .text("name"))]))
    try lab.a.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')")
    try lab.sync()
    try lab.a.close()
    var options = Lab.options(path)
    options.willChangeSchema = { db, _, _ in
      try db.execute(
        sql: """
          UPDATE P SET name = 'first' WHERE id = 'P|~|1';
          DELETE FROM P WHERE id = 'P|~|2';
          INSERT INTO P(id, name) VALUES('P|~|3', 'three')
          """)
    }
    let later = Schema([EntitySchema("P", .text("name"), .integer("pos"), .text("alias"))])
    let a = try lab.scratch.store("a", schema: later, options: options)
    #expect(try a.verify().problems == [])
    try a.sync(with: lab.b)
    try expectConverged(a, lab.b)
    #expect(try Lab.text(lab.b, "SELECT group_concat(name) FROM P ORDER BY id") == "first,three")
  }

  /// SQLite writes no clock in place in such a table, and an UPDATE of it fires TEMP triggers, but none that the
  /// transaction itself has made.
  @Test(arguments: ["TEMP TRIGGER app_t AFTER UPDATE ON main.P", "TRIGGER app_t AFTER UPDATE ON P"])
  func aTriggerThatAClockFiresIsCaptured(_ trigger: String) throws {
    let lab = try Lab(.hook)
    try lab.a.run("CREATE INDEX app_lower ON P(lower(name))", "INSERT INTO P(id, name) VALUES('P|~|1', 'one')")
    try lab.a.run("INSERT INTO G(id, name, rating) VALUES('G|~|1', 'g', 1)")
    try lab.sync()
    try lab.a.write { db in
      try db.execute(
        sql: """
          CREATE \(trigger) BEGIN
            UPDATE G SET rating = rating + 1;
            INSERT INTO G(id, name) SELECT 'G|~|' || (count(*) + 1), 'made' FROM G;
          END;
          UPDATE P SET pos = 5
          """)
    }
    #expect(try lab.a.verify().problems == [])
    try lab.a.run("DROP TRIGGER app_t")
    try lab.sync()
    try lab.expectEqual()
  }
}

/// Writes whenever a transaction is rolled back.
private final class WriterAfterRollback: TransactionObserver {
  /// Whether it refuses the next commit.
  var refusesCommit = false
  private(set) var errors = 0
  private var isWriting = false

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseDidCommit(_ db: Database) {}

  func databaseWillCommit() throws {
    defer { refusesCommit = false }
    if refusesCommit { throw CancellationError() }
  }

  func databaseDidRollback(_ db: Database) {
    // Called again where this write is refused.
    guard !isWriting else { return }
    isWriting = true
    defer { isWriting = false }
    do { try db.execute(sql: "UPDATE P SET name = 'late' WHERE id = 'P|~|1'") } catch { errors += 1 }
  }
}
