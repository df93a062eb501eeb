import Foundation
import GRDB
import Tally
import Testing

/// Rows are looked up by statements that run from one look to the next (`RowFinder`): nobody waits for them afterwards,
/// and each look finds what was written before it.
@Suite struct RowFinderTests {
  private static let schema = Schema([
    EntitySchema("Shelf", .text("name")),
    EntitySchema("Book", .text("title"), .integer("pages", default: 100), .reference("shelf", to: "Shelf")),
  ])
  private static let count = 500

  private let scratch: Scratch
  private let (store, peer): (Store, Store)

  init() throws {
    scratch = try Scratch()
    store = try scratch.store("a", schema: Self.schema)
    peer = try scratch.store("b", schema: Self.schema)
    try store.write { db in
      try db.execute(sql: "INSERT INTO Shelf(id, name) VALUES('Shelf|~|1', 'north')")
      for number in 0..<Self.count { try insert(db, "Book|~|\(number)", title: "\(number)") }
    }
    try store.sync(with: peer)
  }

  private func insert(_ db: Database, _ name: String, title: String) throws {
    try db.execute(sql: "INSERT INTO Book(id, title, shelf) VALUES(?, ?, 'Shelf|~|1')", arguments: [name, title])
  }

  /// Whether nobody reads the file: then its log can be emptied.
  private func isFree(_ name: String) throws -> Bool {
    let other = try DatabaseQueue(path: scratch.path(name))
    defer { try? other.close() }
    return try other.inDatabase { db in
      try Int.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)") == 0
    }
  }

  /// A write of many rows of each kind: edits, deletes, inserts.
  private func change(_ store: Store, adding title: String = "new") throws {
    try store.write { db in
      try db.execute(sql: "UPDATE Book SET pages = pages + 1 WHERE rowid % 3 = 0")
      try db.execute(sql: "DELETE FROM Book WHERE rowid % 3 = 1")
      for number in 0..<50 { try insert(db, "Book|~|\(title)\(number)", title: title) }
    }
  }

  @Test func nobodyHoldsALockAfterwards() throws {
    try change(store)
    #expect(try isFree("a"))
    try peer.apply(try store.delta(since: try peer.vector))
    #expect(try isFree("a"))
    #expect(try isFree("b"))
    _ = try peer.apply(try store.delta(), isRepair: true)
    #expect(try isFree("b"))
    // Somebody else writes, and so can the store.
    let other = try DatabaseQueue(path: scratch.path("b"))
    try other.write { db in try db.execute(sql: "CREATE TABLE note(text)") }
    try other.close()
    try change(peer, adding: "newer")
    try store.sync(with: peer)
    #expect(try store.summary().fingerprint == peer.summary().fingerprint)
    #expect(try store.verify().isSound && peer.verify().isSound)
  }

  @Test func nobodyHoldsALockAfterWhatFailed() throws {
    #expect(throws: StoreError.self) {
      try store.write { db in
        try db.execute(sql: "UPDATE Book SET pages = pages + 1")
        try db.execute(sql: "UPDATE Book SET title = cast(x'FF' AS TEXT) WHERE id = 'Book|~|250'")
      }
    }
    #expect(try isFree("a"))
    try change(store)
    var delta = try store.delta(since: try peer.vector)
    delta[delta.count / 2] ^= 1
    #expect(throws: (any Error).self) { try peer.apply(delta) }
    #expect(try isFree("b"))
    try store.sync(with: peer)
    #expect(try store.verify().isSound && peer.verify().isSound)
  }

  /// A row that comes and goes within what looks for it: renamed, replaced, deleted and inserted again.
  @Test func whatWasWrittenIsFound() throws {
    try store.write { db in
      try db.execute(sql: "UPDATE Book SET title = title || '!'")
      try db.execute(sql: "REPLACE INTO Book(id, title) SELECT id, 'replaced' FROM Book WHERE rowid % 5 = 0")
      try db.execute(sql: "DELETE FROM Book WHERE rowid % 7 = 0")
      for number in 0..<40 where number % 2 == 0 {
        try db.execute(sql: "INSERT OR IGNORE INTO Book(id, title) VALUES(?, 'again')", arguments: ["Book|~|\(number)"])
      }
    }
    try store.sync(with: peer)
    let rows = { (store: Store) in
      try store.read { try Row.fetchAll($0, sql: "SELECT id, title, pages, shelf FROM Book ORDER BY id") }
    }
    #expect(try rows(store) == rows(peer))
    #expect(try store.verify().isSound && peer.verify().isSound)
  }

  /// SQLite would read all of a table that it takes for all but empty, for each key. Once it has, each key is bound
  /// again.
  @Test func aTableThatHasGrownSinceItWasAnalyzed() throws {
    let store = try scratch.store("c", schema: Self.schema)
    try store.write { db in
      try db.execute(sql: "INSERT INTO Shelf(id, name) VALUES('Shelf|~|1', 'north')")
      try insert(db, "Book|~|first", title: "first")
      try db.execute(sql: "ANALYZE")
    }
    let meter = StepMeter()
    try store.write { db in
      meter.listen(to: db)
      for number in 0..<2000 { try insert(db, "Book|~|\(number)", title: "\(number)") }
    }
    meter.reset()
    try store.write { db in try db.execute(sql: "UPDATE Book SET pages = 7") }
    #expect(meter.steps < 2000 * 300)
    #expect(try store.verify().isSound)
  }

  /// Of a table without the index SQLite would make one for a statement, which sees nothing that is written after.
  @Test(arguments: ["TEXT NOT NULL", "TEXT NOT NULL COLLATE NOCASE"])
  func aTableThatLacksTheIndex(_ type: String) throws {
    let other = try DatabaseQueue(path: scratch.path("b"))
    try other.write { db in
      try db.execute(
        sql: """
          CREATE TABLE made(
            id \(type), title TEXT, pages INTEGER NOT NULL DEFAULT 100, shelf TEXT,
            tally_clock BLOB NOT NULL DEFAULT (zeroblob(15)));
          INSERT INTO made(id, tally_clock, title, pages, shelf)
            SELECT id, tally_clock, title, pages, shelf FROM Book ORDER BY rowid;
          DROP TABLE Book;
          ALTER TABLE made RENAME TO Book;
          CREATE TRIGGER app AFTER UPDATE OF pages ON Book WHEN new.pages > 1000 AND new.rowid < 4
            BEGIN UPDATE Book SET title = 'by trigger' WHERE rowid IN (40, 41, 50, 400); END
          """)
    }
    try other.close()
    try store.write { db in try db.execute(sql: "UPDATE Book SET pages = pages + 1000, title = title || '!'") }
    try peer.apply(try store.delta(since: try peer.vector))
    #expect(try peer.verify().problems == [])
  }

  /// An index of the app's leads to several rows of a name.
  @Test func anIndexOfTheAppsOnNames() throws {
    for store in [store, peer] {
      try store.write { db in
        try db.execute(sql: "CREATE INDEX named ON Book(id, title); CREATE INDEX hidden ON tally_hidden(key); ANALYZE")
      }
    }
    try change(store)
    try store.sync(with: peer)
    try change(peer, adding: "newer")
    try store.sync(with: peer)
    #expect(try store.summary().fingerprint == peer.summary().fingerprint)
    #expect(try store.verify().isSound && peer.verify().isSound)
  }

  /// The function that hands the keys over is not for others.
  @Test func keysAreOnlyHandedToTheStore() throws {
    try store.write { db in
      #expect(throws: DatabaseError.self) { try Row.fetchAll(db, sql: "SELECT * FROM tally_key") }
      #expect(try Row.fetchAll(db, sql: "SELECT * FROM tally_key(1)") == [])
      try db.execute(sql: "CREATE TRIGGER t AFTER UPDATE ON Shelf BEGIN SELECT * FROM tally_key(1); END")
      #expect(throws: DatabaseError.self) { try db.execute(sql: "UPDATE Shelf SET name = 'south'") }
    }
  }
}
