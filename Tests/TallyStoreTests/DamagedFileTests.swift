import Foundation
import GRDB
import Tally
import Testing

/// What a disk or another program did to the store's own tables is an error and never a trap.
@Suite struct DamagedFileTests {
  let scratch: Scratch

  /// A store with rows, links, hidden records and delete contexts.
  init() throws {
    scratch = try Scratch()
    let store = try scratch.store()
    let ann = Person(name: "Ann")
    let game = Game(name: "Chess", author: ann.id)
    let match = Match(place: "Rome", game: game.id)
    try store.write { db in
      try ann.insert(db)
      try game.insert(db)
      try match.insert(db)
      try Game.players.insert(ann.id, to: game.id, in: db)
    }
    try store.write { db in _ = try game.delete(db) }
    try store.close()
  }

  private func damage(_ sql: String) throws {
    let queue = try DatabaseQueue(path: scratch.path("a.tally"))
    try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    try queue.close()
  }

  /// Everything that reads the tables, each on its own.
  private func exercise() throws -> Int {
    let uses: [(Store) throws -> Void] = [
      { _ = try $0.summary() }, { _ = try $0.delta() }, { _ = try $0.status() }, { _ = try $0.schema },
      { try $0.dump(.canonical) { _ in } },
      { store in if try !store.verify().isSound { throw StoreError(.corrupt, "found by verify") } },
      { try $0.write { db in try Person(name: "Bob").insert(db) } },
    ]
    var failures = 0
    for use in uses {
      do {
        let store = try Store(existing: scratch.path("a.tally"))
        try use(store)
        try store.close()
      } catch let error as StoreError {
        #expect([.corrupt, .damaged].contains(error.code))
        failures += 1
      }
    }
    return failures
  }

  @Test(arguments: [
    "UPDATE tally_vector SET sequence = -1", "UPDATE tally_vector SET sequence = 9223372036854775807",
    "UPDATE tally_vector SET zone = 7", "UPDATE tally_log SET sequence = -sequence",
    "UPDATE tally_log SET items = x'FF'",
    "UPDATE tally_field SET n = -n", "UPDATE tally_field SET n = n + 4294967296", "UPDATE tally_replica SET id = x'00'",
    "UPDATE tally_kind SET relationship = '' WHERE relationship <> ''",
    "UPDATE tally_hidden SET body = x'01'", "UPDATE tally_context SET vector = x'0101FFFFFFFFFFFFFFFFFF01'",
  ]) func damagedTablesAreReported(sql: String) throws {
    try damage(sql)
    #expect(try exercise() > 0)
  }

  /// One bit, which is most of what disks do.
  @Test(arguments: [
    ("tally_replica", "id", 5), ("tally_vector", "sequence", 7), ("tally_zone", "fingerprint", 20),
  ]) func aFlippedBitOfTheVectorIsPutRight(table: String, column: String, byte: Int) throws {
    let before = try Store(existing: scratch.path("a.tally"))
    let (summary, delta) = (try before.summary(), try before.delta())
    try before.close()
    let queue = try DatabaseQueue(path: scratch.path("a.tally"))
    try queue.write { db in
      let value = try DatabaseValue.fetchOne(db, sql: "SELECT \(column) FROM \(table)")
      let damaged: any DatabaseValueConvertible
      if let number = value.flatMap(Int.fromDatabaseValue) {
        damaged = number ^ 1 << byte
      } else {
        var bytes = try #require(value.flatMap(Data.fromDatabaseValue))
        bytes[byte] ^= 8
        damaged = bytes
      }
      try db.execute(sql: "UPDATE \(table) SET \(column) = ?", arguments: [damaged])
    }
    try queue.close()
    let store = try Store(existing: scratch.path("a.tally"))
    #expect(try store.verify().problems == [])
    #expect(try store.doubt() == nil)
    #expect(try store.summary().vector == summary.vector)
    #expect(try store.delta() == delta)
    try store.close()
  }
}
