import Foundation
import GRDB
import GRDBSQLite
import Tally
import TallyCRDT
import TallyStore
import TestEffort
import Testing

/// Writes of which a part is undone, or whose ground moves, before they end.
@Suite struct BrokenWriteTests {
  static let changes = [
    "DELETE FROM P WHERE id = 'P|~|2'", "UPDATE P SET name = 'a' WHERE id = 'P|~|1'",
    "INSERT INTO P(id, name) VALUES('P|~|3', 'three')", "REPLACE INTO P(id, name) VALUES('P|~|1', 'a')",
    "INSERT INTO G_players(source, target) VALUES('G|~|1', 'P|~|2')", "DELETE FROM G_players",
  ]
  static let objects = [
    "CREATE TABLE draft(x)", "CREATE INDEX app_pos ON P(pos)",
    "CREATE TRIGGER app_t AFTER UPDATE ON P BEGIN UPDATE G SET rating = rating + 1; END",
  ]

  /// The statement that switches triggers on is undone with its savepoint, and triggers stay on.
  @Test(arguments: Effort.sample(changes, 3), objects) func whatFollowsAChangeOfTheSchemaThatIsRolledBackIsCapturedOnce(
    _ change: String, _ object: String
  ) throws {
    let lab = try Lab(.hook)
    try lab.a.run(
      "INSERT INTO P(id, name) VALUES('P|~|1', 'one'), ('P|~|2', 'two')",
      "INSERT INTO G(id, name, rating) VALUES('G|~|1', 'g', 1)",
      "INSERT INTO G_players(source, target) VALUES('G|~|1', 'P|~|1')")
    try lab.sync()
    try lab.a.write { db in
      try db.inSavepoint {
        try db.execute(sql: object)
        return .rollback
      }
      try db.execute(sql: change)
    }
    try lab.b.run("UPDATE P SET name = 'later' WHERE id = 'P|~|1'")
    #expect(try lab.a.verify().problems == [])
    #expect(try lab.a.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM tally_pending") } == 0)
    try lab.sync()
    try lab.expectEqual()
    #expect(try Lab.text(lab.b, "SELECT name FROM P WHERE id = 'P|~|1'") == "later")
    try lab.a.close()
    #expect(try lab.reopened("a").verify().problems == [])
  }

  /// An interruption that rolls the transaction back while a write is captured is an error at once: what came after it
  /// would be of no transaction, and a second one would leave some of it in the file.
  @Test func interruptionsOfACaptureLeaveNothing() throws {
    let lab = try Lab(.hook)
    for first in Effort.sample(1...160, 30) {
      for second in [0, 10] {
        try lab.a.run("DELETE FROM P")
        try lab.a.run(
          """
          INSERT INTO P(id, name)
          SELECT 'P|~|\(first)-\(second)-' || value, 'old' FROM json_each('[1, 2, 3, 4]')
          """)
        let interruptions = Interruptions(first, first + second)
        defer { interruptions.end(lab.a) }
        do {
          try lab.a.write { db in
            try db.execute(sql: "UPDATE P SET name = 'new'")
            interruptions.begin(db)
          }
        } catch let error as DatabaseError {
          #expect(error.resultCode == .SQLITE_INTERRUPT, "\(first) \(second): \(error)")
        }
        interruptions.end(lab.a)
        #expect(try lab.a.verify().problems == [], "\(first) \(second)")
      }
    }
    try lab.sync()
    try lab.expectEqual()
  }

  /// One of the app's columns goes and another one comes, so that there are as many as before in other places.
  @Test(
    arguments: CapturePath.allCases,
    [
      ["ALTER TABLE P DROP COLUMN own", "ALTER TABLE P ADD COLUMN fresh TEXT"],
      ["ALTER TABLE P ADD COLUMN fresh TEXT", "ALTER TABLE P DROP COLUMN own"],
    ])
  func columnsThatTradePlacesWithinAWriteAreNotMixedUp(_ path: CapturePath, _ changes: [String]) throws {
    let later = Schema([EntitySchema("P", .text("name"), .integer("pos"), .integer("age"))])
    for rest in ["UPDATE P SET fresh = 'x'", "DELETE FROM P WHERE id = 'P|~|1'", "UPDATE P SET age = 5"] {
      let lab = try Lab(path, Schema([EntitySchema("P", .text("name"))]))
      try lab.a.run("ALTER TABLE P ADD COLUMN own TEXT")
      for store in [lab.a, lab.b] { try store.close() }
      let (a, b) = (try lab.reopened("a", later), try lab.reopened("b", later))
      try a.run("INSERT INTO P(id, name, pos, age, own) VALUES('P|~|1', 'one', 1, 2, 'own')")
      try a.sync(with: b)
      // A change that is undone leaves the schema with a number that the next change gives it again.
      let undone = ["SAVEPOINT s", "ALTER TABLE P ADD COLUMN other TEXT", "UPDATE P SET pos = 1", "ROLLBACK TO s"]
      let write = { try a.write { db in for sql in undone + changes + [rest] { try db.execute(sql: sql) } } }
      if path == .hook {
        let error = try #require(throws: StoreError.self) { try write() }
        #expect(error.code == .incompatibleTable)
        try a.run(changes[0], changes[1])
        try a.run(rest)
      } else {
        try write()
      }
      #expect(try a.verify().problems == [], "\(rest)")
      try a.sync(with: b)
      try expectConverged(a, b)
    }
  }
}

/// Interrupts SQLite at instructions that are counted.
private final class Interruptions {
  private var count = 0
  private let points: [Int]

  init(_ points: Int...) { self.points = points }

  func begin(_ db: Database) {
    sqlite3_progress_handler(
      db.sqliteConnection, 1,
      { context in
        guard let context else { return 0 }
        let interruptions = Unmanaged<Interruptions>.fromOpaque(context).takeUnretainedValue()
        interruptions.count += 1
        return interruptions.points.contains(interruptions.count) ? 1 : 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  func end(_ store: Store) {
    store.unsafeReentrantWrite { db in sqlite3_progress_handler(db.sqliteConnection, 0, nil, nil) }
  }
}
