import Foundation
import GRDB
import Tally
import Testing

/// Of records that have changed, an incremental delta holds what the receiver lacks, and nothing of a state that the
/// disk has changed: see `NewParts`.
@Suite struct NewPartTests {
  private static let schema = Schema([
    EntitySchema("Shelf", .text("name")),
    EntitySchema(
      "Book", .text("title"), .integer("pages", default: 100), .real("weight"), .blob("cover"),
      .reference("shelf", to: "Shelf")),
  ])

  private let scratch: Scratch
  private let (store, peer): (Store, Store)

  init() throws {
    scratch = try Scratch()
    store = try scratch.store("a", schema: Self.schema)
    peer = try scratch.store("b", schema: Self.schema)
    try store.write { db in
      try db.execute(sql: "INSERT INTO Shelf(id, name) VALUES('Shelf|~|1', 'north')")
      for key in ["kept", "edited", "deleted"] { try insert(db, key) }
    }
    try store.sync(with: peer)
    try store.write { db in
      try db.execute(sql: "UPDATE Book SET pages = 7 WHERE id = 'Book|~|edited'")
      try db.execute(sql: "DELETE FROM Book WHERE id = 'Book|~|deleted'")
      // Keys that are UUIDs go packed.
      try insert(db, Self.inserted)
      try insert(db, "inserted")
    }
  }

  private static let inserted = "01234567-89ab-cdef-0123-456789abcdef"

  private func insert(_ db: Database, _ key: String) throws {
    try db.execute(
      sql:
        "INSERT INTO Book(id, title, pages, weight, cover, shelf) VALUES(?, 'Größe', 100, 1.5, x'0102', 'Shelf|~|1')",
      arguments: ["Book|~|\(key)"])
  }

  /// Changes what stands in the file as a disk does, behind everybody's back.
  private func damage(_ sql: String) throws {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA trusted_schema = ON") }
    let file = try DatabaseQueue(path: scratch.path("a"), configuration: configuration)
    try file.write { db in
      let triggers = try Row.fetchAll(
        db, sql: "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name GLOB 'tally_*'")
      for row in triggers { try db.execute(sql: "DROP TRIGGER \"\(row["name"] as String)\"") }
      try db.execute(sql: sql)
      for row in triggers { try db.execute(sql: row["sql"]) }
    }
    try file.close()
  }

  @Test func whatIsNewComesAsItIs() throws {
    let base = try peer.vector
    // What one write brings, and what several do.
    try peer.apply(try store.delta(since: base))
    try expectConverged(store, peer)
    let titles =
      "SELECT group_concat(title || pages || weight || hex(cover) || shelf, ' ') FROM (SELECT * FROM Book ORDER BY id)"
    #expect(
      try peer.read { try String.fetchOne($0, sql: titles) } == store.read { try String.fetchOne($0, sql: titles) })
    let newcomer = try scratch.store("c", schema: Self.schema)
    for key in ["edited", "kept"] {
      try peer.write { try $0.execute(sql: "UPDATE Book SET title = '' WHERE id = 'Book|~|\(key)'") }
    }
    try store.apply(try peer.delta(since: try store.vector))
    try newcomer.apply(try store.delta())
    try expectConverged(store, peer, newcomer)
  }

  @Test(arguments: [
    "UPDATE Book SET weight = 2 WHERE id = 'Book|~|edited'",
    "UPDATE Book SET title = 'Grösse' WHERE id = 'Book|~|edited'",
    "UPDATE Book SET cover = NULL WHERE id = 'Book|~|edited'",
    "UPDATE Book SET title = CAST(x'ff' AS TEXT) WHERE id = 'Book|~|edited'",
    "UPDATE Book SET pages = 101 WHERE id = 'Book|~|\(inserted)'",
    "UPDATE Book SET shelf = 'Shelf|~|2' WHERE id = 'Book|~|inserted'",
    // A sequence that the receiver has: the record would not be new to it.
    "UPDATE Book SET tally_clock = (SELECT tally_clock FROM Book WHERE id = 'Book|~|kept') WHERE id = 'Book|~|\(inserted)'",
    """
    UPDATE tally_hidden SET body = CAST(
      substr(body, 1, instr(body, x'020102')) || x'03' || substr(body, instr(body, x'020102') + 2) AS BLOB)
    WHERE key = 'Book|~|deleted'
    """,
  ])
  func whatIsNotWhatWasWrittenIsNotGivenAway(_ sql: String) throws {
    let base = try peer.vector
    // The last write is no longer in memory.
    try store.close()
    try damage(sql)
    let reopened = try scratch.store("a", schema: Self.schema)
    let error = #expect(throws: StoreError.self) { try peer.apply(try reopened.delta(since: base)) }
    #expect(error?.code == .damaged)
    #expect(try peer.vector == base)
  }
}
