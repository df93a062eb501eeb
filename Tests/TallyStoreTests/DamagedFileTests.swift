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
      try Game.players.insert(db, ann.id, to: game.id)
    }
    try store.write { db in _ = try game.delete(db) }
    try store.flushTail()
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
    "UPDATE tally_field SET n = -n", "UPDATE tally_field SET n = n + 12884901888",
    "UPDATE tally_replica SET id = x'00'",
    "UPDATE tally_kind SET relationship = '' WHERE relationship <> ''",
    "UPDATE tally_hidden SET body = x'01'", "UPDATE tally_context SET vector = x'0101FFFFFFFFFFFFFFFFFF01'",
  ]) func damagedTablesAreReported(sql: String) throws {
    try damage(sql)
    #expect(try exercise() > 0)
  }

  /// A flipped bit in a row's header makes a blob a text of the same bytes, or a text a blob. What is stored is the
  /// same, so it is no damage of the content; SQLite's own check reports it, and a rebuild puts it right.
  @Test(arguments: [
    ("tally_zone", "fingerprint"), ("tally_zone", "id"), ("tally_replica", "id"), ("tally_context", "vector"),
    ("tally_hidden", "body"), ("tally_hidden", "key"), ("tally_cut", "body"), ("tally_log", "items"),
    ("tally_kind", "source"),
  ]) func aValueOfAnotherStorageClassIsPutRight(table: String, column: String) throws {
    let before = try Store(existing: scratch.path("a.tally"))
    let summary = try before.summary()
    try before.close()
    let sql = try declare(table) { $0.replacing(" STRICT", with: "") }
    try damage(
      "UPDATE \(table) SET \(column) = CAST(\(column) AS \(["key", "source"].contains(column) ? "BLOB" : "TEXT"))")
    _ = try declare(table) { _ in sql }
    let store = try Store(existing: scratch.path("a.tally"))
    #expect(try store.verify().problems.contains { $0.contains("\(table).\(column)") })
    _ = try store.rebuild()
    #expect(try store.verify().problems == [])
    #expect(try store.summary().fingerprint == summary.fingerprint)
    #expect(try store.summary().vector == summary.vector)
    try store.close()
  }

  /// Changes what the file says of a table, and nothing in it.
  /// - Returns: what it said before.
  private func declare(_ table: String, _ change: (String) -> String) throws -> String {
    var configuration = Configuration()
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA writable_schema = ON") }
    let queue = try DatabaseQueue(path: scratch.path("a.tally"), configuration: configuration)
    let sql = try queue.writeWithoutTransaction { db in
      let sql = try #require(
        try String.fetchOne(db, sql: "SELECT sql FROM sqlite_master WHERE name = ?", arguments: [table]))
      try db.execute(sql: "UPDATE sqlite_master SET sql = ? WHERE name = ?", arguments: [change(sql), table])
      return sql
    }
    try queue.close()
    return sql
  }

  /// Whoever verifies learns what is wrong; a store that knows of damage gives nothing away, whoever found it.
  @Test func verifyNotesDamageOfTheContent() throws {
    try damage("UPDATE tally_zone SET fingerprint = CAST(zeroblob(16) || substr(fingerprint, 17) AS BLOB)")
    let reading = try Store(existing: scratch.path("a.tally"), options: readOnly)
    #expect(try !reading.verify().isSound)
    #expect(try reading.doubt() == nil)
    try reading.close()
    let store = try Store(existing: scratch.path("a.tally"))
    #expect(try !store.verify().isSound)
    #expect(try store.doubt()?.level == .damaged)
    let error = #expect(throws: StoreError.self) { try store.delta() }
    #expect(error?.code == .damaged)
    try store.close()
  }

  /// What can be made again from the content is no damage of it.
  @Test func verifyNotesNothingForALostIndex() throws {
    try damage("DELETE FROM tally_log")
    let store = try Store(existing: scratch.path("a.tally"))
    #expect(try !store.verify().isSound)
    #expect(try store.doubt() == nil)
    try store.close()
  }

  private var readOnly: StoreOptions {
    var options = StoreOptions()
    options.isReadOnly = true
    return options
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
