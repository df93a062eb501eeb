import Foundation
import GRDB
import Synchronization
import Tally
import TallyCRDT
import TallyStore
import TallyTesting
import Testing

/// Another program rebuilds a table, as SQLite's manual has it (create, copy, drop, rename), and what it writes before
/// a store has made the capture triggers again arrives everywhere.
@Suite struct RowsOfRebuiltTablesTests {
  private static let schema = Schema([
    EntitySchema("P", .text("name"), .integer("n")),
    EntitySchema("G", .text("name"), .toMany("players", to: "P")),
  ])

  private let scratch: Scratch
  private let options: StoreOptions

  init() throws {
    scratch = try Scratch()
    options = Lab.options(.hook)
  }

  private func open(_ name: String) throws -> Store { try scratch.store(name, schema: Self.schema, options: options) }

  /// Two stores with the same three records and two links; the third record and the second link were there, and are
  /// deleted.
  private func prepare() throws -> (Store, Store) {
    let (a, b) = (try open("a"), try open("b"))
    try a.write { db in
      for number in 1...3 {
        try db.execute(
          sql: "INSERT INTO P(id, name, n) VALUES(?, 'one', ?)", arguments: ["P|~|\(number)", number])
      }
      try db.execute(sql: "INSERT INTO G(id, name) VALUES('G|~|1', 'game')")
      try db.execute(
        sql: "INSERT INTO G_players(source, target) VALUES('G|~|1', 'P|~|1'), ('G|~|1', 'P|~|2')")
    }
    try a.run("UPDATE P SET name = 'edited' WHERE id = 'P|~|2'")
    try a.run("DELETE FROM P WHERE id = 'P|~|3'")
    try a.run("DELETE FROM G_players WHERE target = 'P|~|2'")
    try a.sync(with: b)
    return (a, b)
  }

  /// Rebuilds a table with `copied` instead of all of its rows; `after` runs in the same connection. `restoresTriggers`
  /// makes all triggers again as they were, as the manual asks.
  private func rebuild(
    _ table: String, copying copied: String = "SELECT * FROM", restoresTriggers: Bool = false, then after: String...
  ) throws {
    let queue = try DatabaseQueue(path: scratch.path("a"))
    try queue.inDatabase { db in
      try db.execute(sql: "PRAGMA foreign_keys = OFF")
      let sql = try #require(
        try String.fetchOne(db, sql: "SELECT sql FROM sqlite_master WHERE name = ?", arguments: [table]))
      let triggers = try String.fetchAll(
        db, sql: "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ? ORDER BY rowid",
        arguments: [table])
      try db.inTransaction {
        let name = try #require(sql.range(of: "\"\(table)\""))
        try db.execute(sql: sql.replacingCharacters(in: name, with: "\"N\""))
        try db.execute(sql: "INSERT INTO N \(copied) \"\(table)\"")
        try db.execute(sql: "DROP TABLE \"\(table)\"")
        try db.execute(sql: "ALTER TABLE N RENAME TO \"\(table)\"")
        if restoresTriggers { for trigger in triggers { try db.execute(sql: trigger) } }
        return .commit
      }
      for sql in after { try db.execute(sql: sql) }
    }
    try queue.close()
  }

  /// The rows that the app sees.
  private static func shown(_ store: Store) throws -> [String] {
    try store.read { db in
      try String.fetchAll(
        db,
        sql: """
          SELECT id || ' ' || coalesce(name, '') || ' ' || coalesce(n, '') FROM P
          UNION ALL SELECT id || ' ' || name FROM G UNION ALL SELECT source || ' ' || target FROM G_players ORDER BY 1
          """)
    }
  }

  private static func people(_ store: Store) throws -> [String] { try shown(store).filter { $0.hasPrefix("P") } }

  private func expectEqual(_ a: Store, _ b: Store, _ label: String) throws {
    try a.sync(with: b)
    #expect(try Self.shown(a) == Self.shown(b), "\(label)")
    #expect(try a.verify().problems == [], "\(label)")
    #expect(try b.verify().problems == [], "\(label)")
    try expectConverged(a, b)
  }

  /// An edited row takes the name of another of the transaction that inserted both, and the change log lists the
  /// insert under either. What was written just before, and not captured yet, is noted under the name that is gone.
  @Test(arguments: [true, false]) func aRowMayTakeTheNameOfOneThatCameWithIt(isEditedBefore: Bool) throws {
    var (a, b) = try prepare()
    try a.close()
    if isEditedBefore {
      let queue = try DatabaseQueue(path: scratch.path("a"))
      try queue.write { try $0.execute(sql: "UPDATE P SET n = 101 WHERE id = 'P|~|2'") }
      try queue.close()
    }
    try rebuild(
      "P", copying: "SELECT * FROM (SELECT * FROM P WHERE id <> 'P|~|1') AS",
      then: "UPDATE P SET id = 'P|~|1' WHERE id = 'P|~|2'")
    a = try open("a")
    try expectEqual(a, b, "edited before: \(isEditedBefore)")
    #expect(try Self.people(b) == ["P|~|1 edited \(isEditedBefore ? 101 : 2)"])
    try a.run("UPDATE P SET name = 'later'")
    try expectEqual(a, b, "later")
    try b.close()
    b = try open("b")
    #expect(try Self.people(b) == ["P|~|1 later \(isEditedBefore ? 101 : 2)"])
  }

  private static let clocks = "name, n, tally_clock FROM P WHERE id = 'P|~|"

  /// A row that goes by another name than the one that its clock was written for is a new one, and who has the old
  /// state, of an edited record or a new one, of the same transaction or another, loses nothing of it.
  @Test(
    arguments: [
      "UPDATE P SET id = 'P|~|3' WHERE id = 'P|~|1'",
      "UPDATE P SET id = 'P|~|3' WHERE id = 'P|~|2'",
      "UPDATE P SET id = 'P|~|9' WHERE id = 'P|~|1'",
      "UPDATE P SET id = 'P|~|9' WHERE id = 'P|~|2'",
      "INSERT INTO P(id, \(columns)) SELECT 'P|~|9', \(clocks)1'",
      "INSERT INTO P(id, \(columns)) SELECT 'P|~|9', \(clocks)2'",
      "INSERT INTO P(id, \(columns)) SELECT 'P|~|3', \(clocks)2'",
      "INSERT INTO P(id, name) VALUES('P|~|8', 'new'), ('P|~|3', 'again')",
      "DELETE FROM P WHERE id = 'P|~|2'",
    ], [false, true])
  func rowsThatTookAnothersClockAreNew(_ sql: String, empties: Bool) throws {
    let (a, b) = try prepare()
    let away = try a.vector
    let late = try open("late")
    try late.apply(try a.delta())
    if empties { try a.empty(ripe: nil) }
    try rebuild("P", then: sql)
    let written = try Self.people(a)
    try expectEqual(a, b, sql)
    #expect(try Self.people(a) == written)
    // Nor does a delta miss it.
    try late.apply(try a.delta(since: away))
    #expect(try Self.people(late) == written)
    try expectEqual(a, late, "late: \(sql)")
  }

  private static let columns = "name, n, tally_clock"

  @Test(arguments: [
    "UPDATE G_players SET target = 'P|~|2'", "INSERT INTO G_players SELECT source, 'P|~|2', tally_clock FROM G_players",
  ])
  func linksThatTookAnothersClockAreNew(_ sql: String) throws {
    let (a, b) = try prepare()
    try rebuild("G_players", then: sql)
    try expectEqual(a, b, sql)
    #expect(try Self.shown(b).contains("G|~|1 P|~|2"))
  }

  /// If the triggers are recreated too, only the order of the tables shows that one was rebuilt.
  @Test(arguments: ["P", "G", "G_players"], [true, false])
  func aTableIsLookedAtAlsoWhereItsTriggersAreBack(_ table: String, isOpen: Bool) throws {
    var (a, b) = try prepare()
    if !isOpen { try a.close() }
    try rebuild(table, copying: "SELECT * FROM", restoresTriggers: true)
    if !isOpen { a = try open("a") }
    try expectEqual(a, b, "all rows kept")
    if !isOpen { try a.close() }
    let before = try Self.shown(b)
    // Of the rows one stays away and one is new.
    let rows = [
      "P": "SELECT CASE id WHEN 'P|~|2' THEN 'P|~|7' ELSE id END, name, n, tally_clock FROM",
      "G": "SELECT 'G|~|2', name, x'\(String(repeating: "00", count: 15))' FROM",
      "G_players": "SELECT source, 'P|~|2', tally_clock FROM",
    ]
    try rebuild(table, copying: try #require(rows[table]), restoresTriggers: true)
    if !isOpen { a = try open("a") }
    let written = try Self.shown(a).filter { table == "P" ? $0.hasPrefix("P") : !$0.hasPrefix("P") }
    try expectEqual(a, b, table)
    let after = try Self.shown(b)
    #expect(after != before)
    if table == "P" { #expect(after.filter { $0.hasPrefix("P") } == written) }
    if table == "G" { #expect(after.contains("G|~|2 game") && !after.contains("G|~|1 game")) }
    if table == "G_players" { #expect(after.contains("G|~|1 P|~|2") && !after.contains("G|~|1 P|~|1")) }
    if !isOpen { try b.close() }
  }

  /// A file of a version that did not keep the order gets it when it is opened.
  @Test func theOrderIsNotedWhereItIsMissing() throws {
    var (a, b) = try prepare()
    try a.close()
    let queue = try DatabaseQueue(path: scratch.path("a"))
    try queue.inDatabase { try $0.execute(sql: "DELETE FROM tally_meta WHERE key IN ('shape', 'tables')") }
    try queue.close()
    try open("a").close()
    try rebuild(
      "P", copying: "SELECT iif(id = 'P|~|1', 'P|~|7', id), name, n, iif(id = 'P|~|1', zeroblob(15), tally_clock) FROM",
      restoresTriggers: true)
    a = try open("a")
    try expectEqual(a, b, "noted again")
    #expect(try Self.people(b).contains("P|~|7 one 1") && !Self.people(b).contains("P|~|1 one 1"))
  }

  /// A store that has never written anything has no vector, and rows that another program has written all the same.
  @Test(arguments: [true, false]) func aStoreWithoutAWriteOfItsOwnLooksAsWell(_ isRebuilt: Bool) throws {
    let (a, b) = (try open("a"), try open("b"))
    if isRebuilt {
      let queue = try DatabaseQueue(path: scratch.path("a"))
      try queue.inDatabase { try $0.execute(sql: "INSERT INTO P(id, name) VALUES('P|~|1', 'one')") }
      try queue.close()
      try rebuild("P", restoresTriggers: true, then: "SELECT 1")
      try rebuild("P", copying: "SELECT id || 'r', name, n, tally_clock FROM", restoresTriggers: true)
    } else {
      try rebuild("P", then: "INSERT INTO P(id, name) VALUES('P|~|1r', 'one')")
    }
    try expectEqual(a, b, "rebuilt: \(isRebuilt)")
    #expect(try Self.people(b) == ["P|~|1r one "])
  }

  /// A row that cannot be replicated is in no other's way, in its own table or another.
  @Test(arguments: ["P", "G"]) func aRowThatIsRefusedHidesNoneThatCame(_ table: String) throws {
    let (a, b) = try prepare()
    let queue = try DatabaseQueue(path: scratch.path("a"))
    try queue.write { try $0.execute(sql: "INSERT INTO \(table)(id, name) VALUES('\(table)|~|', 'refused')") }
    try a.captureChanges()
    #expect(try a.status().rejectedWrites == 1)
    try queue.inDatabase { db in
      try db.execute(sql: "DROP TRIGGER tally_P_insert; INSERT INTO P(id, name) VALUES('P|~|9', 'came')")
    }
    try queue.close()
    try a.sync(with: b)
    #expect(try Self.people(b).contains("P|~|9 came "))
    #expect(try a.status().rejectedWrites == 1)
  }

  /// Schema changes that recreate no table do not make the store read all rows.
  @Test func othersAreNotLookedAt() throws {
    let looks = Atomic(0)
    var options = options
    options.prepareDatabase = { db in
      db.trace(options: .statement) { event in
        if "\(event)".contains("WHERE (tally_clock = ") { looks.add(1, ordering: .relaxed) }
      }
    }
    var store = try scratch.store("a", schema: Self.schema, options: options)
    try store.run("INSERT INTO P(id, name) VALUES('P|~|1', 'one')")
    for sql in [
      "CREATE INDEX by_name ON P(name)", "DROP INDEX by_name", "CREATE TABLE Mine(x)", "DROP TABLE Mine",
      "ALTER TABLE P RENAME TO Q", "ALTER TABLE Q RENAME TO P", "VACUUM", "CREATE VIEW Names AS SELECT name FROM P",
      "DROP VIEW Names",
    ] {
      let queue = try DatabaseQueue(path: scratch.path("a"))
      try queue.inDatabase { try $0.execute(sql: sql) }
      try queue.close()
      if sql.hasSuffix("TO Q") { continue }
      try store.run("UPDATE P SET n = 1 WHERE id = 'P|~|1'")
      try store.close()
      store = try scratch.store("a", schema: Self.schema, options: options)
    }
    #expect(looks.load(ordering: .relaxed) == 0)
    try rebuild("P")
    try store.run("UPDATE P SET n = 2 WHERE id = 'P|~|1'")
    #expect(looks.load(ordering: .relaxed) > 0)
  }
}
