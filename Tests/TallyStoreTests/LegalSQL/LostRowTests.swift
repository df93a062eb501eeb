import Foundation
import GRDB
import Synchronization
import Tally
import TallyStore
import Testing

/// Rows that `REPLACE` deletes on a connection without a store, through unique indexes that are partial, on expressions
/// or with collations of the app's: no trigger notes the deletion.
@Suite(.timeLimit(.minutes(30))) struct LostRowTests {
  private static let index = "CREATE UNIQUE INDEX app_one ON P(name) WHERE pos < 9"

  /// The insert starts a new record: omitted columns have their defaults on every device.
  @Test(arguments: CapturePath.allCases) func aRowThatComesBackIsWhatItIsNow(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(Self.index, "INSERT INTO P(id, name, pos, settings) VALUES('P|~|1', 'one', 1, '[1]')")
    try lab.sync()
    try lab.shell(
      "a", "INSERT OR REPLACE INTO P(id, name, pos) VALUES('P|~|2', 'one', 1)",
      "INSERT INTO P(id, name) VALUES('P|~|1', 'other')", "UPDATE P SET icon = x'07' WHERE id = 'P|~|1'")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.rows(lab.b, "P") == ["'P|~|1','other',NULL,X'07',NULL,NULL", "'P|~|2','one',1,NULL,NULL,NULL"])
  }

  /// If the row was updated before it was deleted, the notes contain only the updated columns.
  @Test(arguments: CapturePath.allCases, [true, false])
  func aRowThatIsUpdatedAndComesBackIsWhatItIsNow(_ path: CapturePath, _ isOwn: Bool) throws {
    let lab = try Lab(path)
    try lab.a.run(Self.index, "INSERT INTO P(id, name, pos, settings) VALUES('P|~|1', 'one', 1, '[1]')")
    try lab.a.run("UPDATE P SET settings = '[2]'")
    try lab.sync()
    let statements = [
      "UPDATE P SET name = 'second' WHERE id = 'P|~|1'",
      "INSERT OR REPLACE INTO P(id, name, pos) VALUES('P|~|2', 'second', 1)",
      "INSERT INTO P(id, name) VALUES('P|~|1', 'other')",
    ]
    if isOwn {
      try lab.a.write { db in for sql in statements { try db.execute(sql: sql) } }
    } else {
      for sql in statements { try lab.shell("a", sql) }
    }
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.rows(lab.b, "P") == ["'P|~|1','other',NULL,NULL,NULL,NULL", "'P|~|2','second',1,NULL,NULL,NULL"])
    try lab.shell(
      "a", "UPDATE P SET icon = x'01' WHERE id = 'P|~|2'", "REPLACE INTO P(id, name, pos) VALUES('P|~|3', 'second', 1)",
      "INSERT INTO P(id, name, pos) VALUES('P|~|2', 'third', 2)",
      "REPLACE INTO P(id, name, pos) VALUES('P|~|4', 'third', 1)")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM P ORDER BY id") == "P|~|1,P|~|3,P|~|4")
  }

  /// Of a store that knows of damage nobody can tell who took a row away. A peer that has it gives it back.
  @Test(arguments: CapturePath.allCases) func aDamagedStoreTakesNoLossForADelete(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(Self.index, "INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1), ('P|~|2', 'two', 2)")
    try lab.sync()
    try lab.shell(
      "a", "UPDATE tally_zone SET fingerprint = CAST(zeroblob(16) || substr(fingerprint, 17) AS BLOB) WHERE n = 0")
    #expect(try !lab.a.verify().isSound)
    #expect(try lab.a.doubt()?.level == .damaged)
    try lab.shell("a", "UPDATE OR REPLACE P SET name = 'one' WHERE id = 'P|~|2'")
    #expect(try lab.a.verify().problems.contains("the log lists P|~|1, of which nothing is stored"))
    try lab.a.run("DROP INDEX app_one")
    try lab.sync()
    #expect(try lab.a.doubt()?.level != .damaged)
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT group_concat(id || name) FROM P ORDER BY id") == "P|~|1one,P|~|2one")
  }

  /// Came back, and was removed in the same way once more.
  @Test(arguments: CapturePath.allCases) func aRowThatWentTwiceIsGone(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(
      Self.index, "INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1), ('P|~|2', 'two', 1), ('P|~|3', 'three', 1)")
    try lab.sync()
    try lab.shell(
      "a", "REPLACE INTO P(id, name, pos) VALUES('P|~|4', 'one', 1)",
      "INSERT INTO P(id, name, pos) VALUES('P|~|1', 'other', 2)",
      "REPLACE INTO P(id, name, pos) VALUES('P|~|5', 'other', 3)",
      // One of which the first note has what was there before.
      "UPDATE P SET name = 'second' WHERE id = 'P|~|2'", "UPDATE OR REPLACE P SET name = 'second' WHERE id = 'P|~|3'",
      "DELETE FROM P WHERE id = 'P|~|5'")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM P ORDER BY id") == "P|~|3,P|~|4")
  }

  /// References to a record that was deleted and inserted again stay.
  @Test(arguments: CapturePath.allCases) func whatRefersToARowThatComesBackStays(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(
      Self.index, "INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1)",
      "INSERT INTO G(id, owner, friend) VALUES('G|~|1', 'P|~|1', 'P|~|1')",
      "INSERT INTO G_players VALUES('G|~|1', 'P|~|1', x'000000000000000000000000')")
    try lab.sync()
    try lab.shell(
      "a", "REPLACE INTO P(id, name, pos) VALUES('P|~|2', 'one', 1)", "INSERT INTO P(id, name) VALUES('P|~|1', 'one')")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT owner || friend || target FROM G, G_players") == "P|~|1P|~|1P|~|1")
  }

  /// A deleted record that was visible only because the lost row refers to it disappears, and `tally_wait` has no stale
  /// entries.
  @Test(arguments: CapturePath.allCases, [true, false])
  func whatALostRowKeptAliveGoesWithIt(_ path: CapturePath, _ isUpdated: Bool) throws {
    let lab = try Lab(path)
    try lab.a.run("CREATE UNIQUE INDEX app_one ON G(name) WHERE rating < 9", "INSERT INTO P(id) VALUES('P|~|1')")
    try lab.sync()
    try lab.a.run("DELETE FROM P")
    try lab.sync()
    try lab.shell(
      "a", "INSERT INTO G(id, name, rating, owner) VALUES('G|~|1', 'a', 1, 'P|~|1')",
      "INSERT INTO G(id, name, rating, friend) VALUES('G|~|2', 'b', 1, 'P|~|2')")
    try lab.sync()
    #expect(try Lab.text(lab.b, "SELECT id FROM P") == "P|~|1")
    if isUpdated { try lab.shell("a", "UPDATE G SET rating = 2") }
    try lab.shell(
      "a", "REPLACE INTO G(id, name, rating) VALUES('G|~|3', 'a', 1)", "INSERT INTO G(id) VALUES('G|~|1')",
      "REPLACE INTO G(id, name, rating) VALUES('G|~|4', 'b', 1)")
    let report = try lab.a.verify()
    #expect(report.problems == [])
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT count(*) FROM P") == "0")
    #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM G ORDER BY id") == "G|~|1,G|~|3,G|~|4")
  }

  /// A peer still has what is lost here, and is no copy of this store for that.
  @Test(arguments: CapturePath.allCases) func aStoreThatLostRowsKeepsItsReplica(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(Self.index, "INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1)")
    try lab.sync()
    let replica = try lab.a.summary().replica
    for number in 2...5 {
      try lab.shell("a", "REPLACE INTO P(id, name, pos) VALUES('P|~|\(number)', 'one', 1)")
      try lab.sync()
      try lab.expectEqual()
    }
    #expect(try replica != nil && lab.a.summary().replica == replica)
    #expect(try lab.a.status().renewal == nil)
  }

  /// One note is enough, and is looked for in one place.
  @Test func aBulkUpdateOfAnOwnColumnLooksAtOneNote() throws {
    let lab = try Lab(.hook)
    try lab.a.run("ALTER TABLE P ADD COLUMN mine TEXT", "CREATE UNIQUE INDEX app_one ON P(lower(mine))")
    try lab.a.run(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
      INSERT INTO P(id, pos) SELECT 'P|~|' || i, i FROM n
      """)
    try lab.shell(
      "a", "UPDATE P SET name = 'a' WHERE pos = 1", "DELETE FROM P WHERE pos > 1000", "UPDATE P SET mine = id")
    let queue = try DatabaseQueue(path: lab.scratch.path("a"))
    #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM tally_pending") } == 1002)
    try queue.close()
    try lab.sync()
    try expectConverged(lab.a, lab.b)
  }

  /// The statement writes nothing that is replicated, and yet removes a row.
  @Test(arguments: CapturePath.allCases, [true, false])
  func aColumnOfTheAppsOwnMayReplace(_ path: CapturePath, _ isAlone: Bool) throws {
    let lab = try Lab(path)
    try lab.a.run("ALTER TABLE P ADD COLUMN mine TEXT", "CREATE UNIQUE INDEX app_one ON P(lower(mine))")
    try lab.a.run("INSERT INTO P(id, mine) VALUES('P|~|1', 'one'), ('P|~|2', 'two'), ('P|~|3', 'three')")
    try lab.sync()
    // Notes of another table must not hide that nothing is noted of this one.
    if !isAlone { try lab.shell("a", "INSERT INTO F(id) VALUES('F|~|1')", "INSERT INTO F(id) VALUES('F|~|2')") }
    try lab.shell("a", "UPDATE OR REPLACE P SET mine = 'ONE' WHERE id = 'P|~|2'")
    #expect(try lab.a.verify().isSound)
    try lab.sync()
    try expectConverged(lab.a, lab.b)
    #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM P ORDER BY id") == "P|~|2,P|~|3")
  }

  /// A reference denies a delete that REPLACE makes silently, as any other, in the app's own write. One that a shell
  /// has committed stands.
  @Test(arguments: CapturePath.allCases) func whatDeniesADeleteDeniesAReplacement(_ path: CapturePath) throws {
    let lab = try Lab(
      path,
      Schema([EntitySchema("P", .text("name")), EntitySchema("N", .reference("holder", to: "P", onDelete: .deny))]))
    try lab.a.run("ALTER TABLE P ADD COLUMN mine TEXT", "CREATE UNIQUE INDEX app_one ON P(lower(mine))")
    try lab.a.run("INSERT INTO P(id, mine) VALUES('P|~|1', 'one')")
    try lab.a.run("INSERT INTO N(id, holder) VALUES('N|~|1', 'P|~|1')")
    try lab.sync()
    for sql in [
      "REPLACE INTO P(id, mine) VALUES('P|~|2', 'ONE')",
      "INSERT OR REPLACE INTO P(id, mine) SELECT 'P|~|' || n, 'One' FROM (SELECT 3 AS n UNION SELECT 4)",
    ] {
      let error = #expect(throws: StoreError.self, "\(sql)") { try lab.a.write { try $0.execute(sql: sql) } }
      #expect(error?.code == .deleteDenied)
      #expect(try Lab.text(lab.a, "SELECT group_concat(id) FROM P") == "P|~|1")
      #expect(try Lab.text(lab.a, "SELECT holder FROM N") == "P|~|1")
    }
    try lab.shell("a", "REPLACE INTO P(id, mine) VALUES('P|~|2', 'ONE')")
    try lab.sync()
    try expectConverged(lab.a, lab.b)
    #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM P") == "P|~|2")
    #expect(try Lab.text(lab.b, "SELECT count(*) FROM N WHERE holder IS NULL") == "1")
    #expect(try lab.a.verify().problems == [])
  }

  /// The index may be gone by the time that a store looks, also one that has not seen it.
  @Test(arguments: CapturePath.allCases, [true, false])
  func anIndexThatIsGoneHasReplacedAllTheSame(_ path: CapturePath, isOpen: Bool) throws {
    let lab = try Lab(path)
    try lab.a.run(Self.index, "INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1), ('P|~|2', 'two', 1)")
    try lab.sync()
    if !isOpen { try lab.a.close() }
    try lab.shell("a", "REPLACE INTO P(id, name, pos) VALUES('P|~|3', 'one', 1)", "DROP INDEX app_one")
    let a = isOpen ? lab.a : try lab.reopened("a")
    try a.sync(with: lab.b)
    try expectConverged(a, lab.b)
    #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM P ORDER BY id") == "P|~|2,P|~|3")
  }

  /// An index that one transaction of the app's makes is looked after from its end.
  @Test(arguments: CapturePath.allCases) func aNewIndexIsKnownAtOnce(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1), ('P|~|2', 'two', 1)")
    try lab.sync()
    try lab.a.run(Self.index)
    try lab.shell("a", "REPLACE INTO P(id, name, pos) VALUES('P|~|3', 'one', 1)")
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM P ORDER BY id") == "P|~|2,P|~|3")
  }

  /// So is one that others make and use before any store looks, or that the transaction makes which uses it.
  @Test(arguments: CapturePath.allCases, [true, false])
  func anIndexIsKnownToWhoMakesIt(_ path: CapturePath, _ isOwn: Bool) throws {
    let lab = try Lab(path)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1), ('P|~|2', 'two', 1)")
    try lab.sync()
    let replace = "REPLACE INTO P(id, name, pos) VALUES('P|~|3', 'one', 1)"
    if isOwn { try lab.a.run(Self.index, replace) } else { try lab.shell("a", Self.index, replace) }
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM P ORDER BY id") == "P|~|2,P|~|3")
  }

  /// Rows that merges, the app and others delete, hide and show again are not taken for lost.
  @Test(arguments: CapturePath.allCases) func noRowIsLostThatWasWrittenAsUsual(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(
      Self.index, "CREATE UNIQUE INDEX app_two ON G_players(lower(source), target)",
      "CREATE UNIQUE INDEX app_three ON F(lower(id))")
    try lab.a.run(
      "INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1), ('P|~|2', 'two', 1), ('P|~|3', 'three', 1)",
      "INSERT INTO G(id) VALUES('G|~|1')", "INSERT INTO G_players(source, target) SELECT 'G|~|1', id FROM P",
      "INSERT INTO F(id) VALUES('F|~|1'), ('F|~|2')", "INSERT INTO F(id, parent) VALUES('F|~|3', 'F|~|1')")
    try lab.sync()
    // A merge inserts, deletes, hides what was owned, and shows it again.
    try lab.b.run(
      "DELETE FROM F WHERE id = 'F|~|1'", "DELETE FROM G_players WHERE target = 'P|~|1'",
      "INSERT INTO P(id) VALUES('P|~|4')")
    try lab.sync()
    try lab.b.run("INSERT INTO F(id) VALUES('F|~|1')", "DELETE FROM P WHERE id = 'P|~|2'")
    try lab.sync()
    // What is rolled back was never there.
    try lab.a.write { db in
      try db.inSavepoint {
        try db.execute(sql: "INSERT INTO P(id) VALUES('P|~|5')")
        try db.execute(sql: "DELETE FROM F")
        return .rollback
      }
      try db.execute(sql: "REPLACE INTO P(id, name, pos) VALUES('P|~|6', 'one', 1)")
    }
    #expect(throws: (any Error).self) {
      try lab.a.write { db in
        try db.execute(sql: "DELETE FROM F")
        try db.execute(sql: "no such statement")
      }
    }
    try lab.a.run("INSERT INTO F(id) VALUES('F|~|9')")
    try lab.shell("a", "DELETE FROM F WHERE id = 'F|~|9'", "INSERT INTO P(id) VALUES('P|~|'), ('P|~|7')")
    try lab.sync()
    try lab.a.run("DELETE FROM P WHERE id = 'P|~|'")
    try lab.sync()
    try lab.expectEqual()
    let names = "SELECT group_concat(substr(id, 5), '') FROM (SELECT id FROM P ORDER BY id)"
    #expect(try Lab.text(lab.b, names) == "3467")
  }

  /// Where triggers note the app's writes as well, a write that replaces nothing does not read the change log for that.
  @Test func onlyALossIsLookedFor() throws {
    let looks = Atomic(0)
    var options = Lab.options(.triggers)
    options.prepareDatabase = { db in
      db.trace(options: .statement) { event in
        if "\(event)".contains("FROM tally_log WHERE +zone") { looks.add(1, ordering: .relaxed) }
      }
    }
    let lab = try Lab(.triggers, options: options)
    try lab.a.run(
      Self.index, "CREATE TRIGGER app_t AFTER INSERT ON F BEGIN UPDATE P SET icon = x'01'; END",
      "INSERT INTO P(id, name, pos) VALUES('P|~|1', 'one', 1), ('P|~|2', 'two', 1)")
    try lab.sync()
    looks.store(0, ordering: .relaxed)
    try lab.a.run("INSERT INTO P(id, name, pos) VALUES('P|~|3', 'three', 1)", "DELETE FROM P WHERE id = 'P|~|1'")
    try lab.a.run("UPDATE P SET name = 'one', id = 'P|~|4' WHERE id = 'P|~|3'")
    try lab.b.run("INSERT INTO F(id) VALUES('F|~|1')")
    try lab.a.apply(try lab.b.delta(since: try lab.a.vector))
    #expect(looks.load(ordering: .relaxed) == 0)
    try lab.a.run("REPLACE INTO P(id, name, pos) VALUES('P|~|5', 'one', 1)")
    #expect(looks.load(ordering: .relaxed) == 1)
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM (SELECT id FROM P ORDER BY id)") == "P|~|2,P|~|5")
  }

  /// A trigger of the app's may replace while a merge writes.
  @Test(arguments: CapturePath.allCases) func whatATriggerReplacesInAMergeIsDeleted(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(
      "CREATE UNIQUE INDEX app_one ON G(name) WHERE rating < 9",
      "CREATE TRIGGER app_t AFTER INSERT ON P BEGIN REPLACE INTO G(id, name, rating) VALUES('G|~|2', 'same', 1); END",
      "INSERT INTO G(id, name, rating) VALUES('G|~|1', 'same', 1)")
    try lab.sync()
    try lab.b.run("INSERT INTO P(id) VALUES('P|~|1')")
    try lab.sync()
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT group_concat(id) FROM G") == "G|~|2")
    #expect(try lab.a.verify().problems == [])
  }

  /// A value that only some connections can compare.
  @Test(arguments: CapturePath.allCases) func aCollationOfTheAppsHindersNobodyElse(_ path: CapturePath) throws {
    let collation = DatabaseCollation("mine") { $0.lowercased().compare($1.lowercased()) }
    var options = Lab.options(path)
    options.prepareDatabase = { $0.add(collation: collation) }
    let lab = try Lab(path, options: options)
    try lab.a.run(
      "CREATE UNIQUE INDEX app_one ON P(name COLLATE mine)",
      "INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')")
    try lab.sync()
    try lab.shell("a", "UPDATE P SET pos = 3 WHERE id = 'P|~|1'")
    let queue = try DatabaseQueue(path: lab.scratch.path("a"))
    try queue.write { db in
      db.add(collation: collation)
      try db.execute(sql: "UPDATE OR REPLACE P SET name = 'TWO' WHERE id = 'P|~|1'")
    }
    try queue.close()
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.rows(lab.b, "P") == ["'P|~|1','TWO',3,NULL,NULL,NULL"])
  }

  /// SQLite says which column may not be null.
  @Test(arguments: CapturePath.allCases) func anIdThatIsTakenAwayIsRefusedBySQLite(_ path: CapturePath) throws {
    let lab = try Lab(path)
    try lab.a.run(
      "INSERT INTO P(id) VALUES('P|~|1')", "INSERT INTO G(id) VALUES('G|~|1')",
      "INSERT INTO G_players(source, target) VALUES('G|~|1', 'P|~|1')")
    for (sql, column) in [
      ("UPDATE P SET id = NULL", "P.id"), ("UPDATE G_players SET source = NULL", "G_players.source"),
    ] {
      let error = #expect(throws: DatabaseError.self) { try lab.shell("a", sql) }
      #expect(error?.message == "NOT NULL constraint failed: \(column)")
    }
  }
}
