import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyRig
import TallyWire
import Testing

@testable import TallyStore

/// Counters end to end on stores.
@Suite struct CounterTests {
  struct Tile: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema(
      "Tile", .text("name"), .counter("score"), .counter("lives", default: 3), .integer("rank"),
      .reference("board", to: "Board", onDelete: .cascade))
    static let score = Counter<Tile>("score")
    static let lives = Counter<Tile>("lives")
    var id = RecordName<Tile>()
    var name: String?
    var score = 0
    var lives = 3
    var rank: Int?
    var board: RecordName<Board>?
  }

  struct Board: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema("Board", .text("name"))
    var id = RecordName<Board>()
    var name: String?
  }

  static let schema = Schema(Tile.self, Board.self)
  let (a, b): (Store, Store)
  let id: RecordName<Tile>

  init() throws {
    (a, b) = (try Store(inMemory: Self.schema), try Store(inMemory: Self.schema))
    let tile = Tile(name: "one", score: 7)
    id = tile.id
    try a.write { try tile.insert($0) }
    try a.sync(with: b)
  }

  private func score(_ store: Store, _ column: String = "score") throws -> Int? {
    try store.read { try Int.fetchOne($0, sql: "SELECT \(column) FROM Tile WHERE id = ?", arguments: [id]) }
  }

  private func run(_ store: Store, _ sql: String) throws { try store.write { try $0.execute(sql: sql) } }

  private func expectBoth(
    _ number: Int?, _ column: String = "score", sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(try a.sync(with: b).isConverged, sourceLocation: sourceLocation)
    for store in [a, b] { #expect(try score(store, column) == number, sourceLocation: sourceLocation) }
    try expectConverged(a, b, sourceLocation: sourceLocation)
  }

  // MARK: What two devices do at once

  @Test func additionsAllCount() throws {
    try run(a, "UPDATE Tile SET score = score + 1")
    try b.write { try Tile.score.add(2, to: id, in: $0) }
    try expectBoth(10)
    try a.write { try Tile.score.add(-3, to: id, in: $0) }
    try run(b, "UPDATE Tile SET score = score * 2")
    try expectBoth(17)
  }

  @Test func aNumberThatPlainSQLWritesIsADifference() throws {
    try run(a, "UPDATE Tile SET score = 0")
    try run(b, "UPDATE Tile SET score = score + 1")
    try expectBoth(1)
    try run(a, "UPDATE Tile SET score = 0")
    try run(b, "UPDATE Tile SET score = 0")
    try expectBoth(-1)
  }

  @Test func ofTwoSetsTheLaterCountsAndAnAdditionThatItHadNotSeenIsAdded() throws {
    try a.write { try Tile.score.set(0, of: id, in: $0) }
    try b.write { try Tile.score.set(0, of: id, in: $0) }
    try expectBoth(0)
    try a.write { try Tile.score.set(100, of: id, in: $0) }
    try b.write { try Tile.score.add(1, to: id, in: $0) }
    try expectBoth(101)
    try b.write { try Tile.score.set(5, of: id, in: $0) }
    try expectBoth(5)
  }

  @Test func aWriteThatAddsAndSetsDoesBothInItsOrder() throws {
    try a.write { db in
      try Tile.score.add(10, to: id, in: db)
      try Tile.score.set(1, of: id, in: db)
      try Tile.score.add(2, to: id, in: db)
      try db.execute(sql: "UPDATE Tile SET name = 'two', lives = lives - 1")
    }
    #expect(try score(a) == 3)
    try run(b, "UPDATE Tile SET score = score + 100, rank = 4")
    try expectBoth(103)
    try expectBoth(2, "lives")
    #expect(try a.read { try Tile.fetchOne($0, id: id)?.name } == "two")
    #expect(try a.read { try Tile.fetchOne($0, id: id)?.rank } == 4)
  }

  @Test func anAdditionKeepsARecordThatAnotherDeviceHasDeleted() throws {
    _ = try a.write { try Tile.deleteOne($0, id: id) }
    try b.write { try Tile.score.add(1, to: id, in: $0) }
    try expectBoth(8)
  }

  /// The sum of what was added is there; what the insert gave went with the purge.
  @Test func additionsOutlastAPurge() throws {
    try b.write { try Tile.score.add(1, to: id, in: $0) }
    try a.sync(with: b)
    _ = try a.write { try Tile.deleteOne($0, id: id) }
    try a.empty(ripe: nil)
    try a.sync(with: b)
    #expect(try score(b) == nil)
    try expectConverged(a, b)
    try run(a, "INSERT INTO Tile(id, score) VALUES('\(id.name)', 20)")
    try expectBoth(20)
    _ = try a.write { try Tile.deleteOne($0, id: id) }
    try a.empty(ripe: nil)
    try b.write { try Tile.score.add(5, to: id, in: $0) }
    try a.sync(with: b)
    // The device that adds has the second insert in view, and says it again in the life that the purge began.
    try expectBoth(25)
  }

  @Test func anInsertUnderTheNameOfADeletedRecordShowsWhatItSays() throws {
    try run(a, "UPDATE Tile SET score = score + 5, lives = lives + 1")
    _ = try a.write { try Tile.deleteOne($0, id: id) }
    try run(a, "INSERT INTO Tile(id) VALUES('\(id.name)')")
    #expect(try score(a) == 0)
    #expect(try score(a, "lives") == 3)
    try expectBoth(0)
    try expectBoth(3, "lives")
  }

  @Test func aRestoreBringsBackTheNumber() throws {
    try run(a, "UPDATE Tile SET score = score + 5")
    _ = try a.write { try Tile.deleteOne($0, id: id) }
    try a.restore(id)
    try expectBoth(12)
  }

  @Test func whatAPersonLostInACompetingSetIsInTheJournalAsItShowed() throws {
    try run(a, "UPDATE Tile SET score = score + 5")
    try a.sync(with: b)
    try a.write { try Tile.score.set(1, of: id, in: $0) }
    try b.write { try Tile.score.set(2, of: id, in: $0) }
    try a.sync(with: b)
    let conflicts = try a.conflicts() + b.conflicts()
    #expect(!conflicts.isEmpty)
    for conflict in conflicts {
      #expect(conflict.field == "score" && conflict.kind == .overwritten)
      #expect(Set([conflict.loserValue, conflict.winnerValue]) == [.integer(1), .integer(2)])
    }
    let shown = try #require(try score(a))
    let conflict = try #require(conflicts.first)
    #expect(conflict.winnerValue == .integer(Int64(shown)))
    let holder = try a.conflicts().isEmpty ? b : a
    try holder.restore(conflict)
    try expectBoth(3 - shown)
  }

  // MARK: The file

  @Test func storesFromBeforeAndUncountedRecordsWriteWhatTheyWroteBefore() throws {
    let plain = try Store(inMemory: Schema([EntitySchema("Note", .integer("n"))]))
    try plain.write { try $0.execute(sql: "INSERT INTO Note(id, n) VALUES('Note|~|a', 1)") }
    #expect(try plain.delta()[2] == 2)
    #expect(try a.delta()[2] == 3)
    // A counter that nobody has added to is a register like any other.
    let clocks = try a.read { try String.fetchAll($0, sql: "SELECT hex(tally_clock) FROM Tile") }
    #expect(clocks.allSatisfy { !$0.hasPrefix("FFFF") })
  }

  /// A file of format 6 has no counters, and nothing in it changes but its version.
  @Test func aFileOfTheFormatBeforeCountersOpensAsItIs() throws {
    let scratch = try Scratch()
    let older = EntitySchema("Note", .integer("n"))
    let store = try scratch.store("six", schema: Schema([older]))
    try run(store, "INSERT INTO Note(id, n) VALUES('Note|~|a', 1), ('Note|~|b', 2)")
    try run(store, "UPDATE Note SET n = 3 WHERE n = 2")
    let fingerprint = try store.summary().fingerprint
    try store.close()
    func outside<Result>(_ body: (Database) throws -> Result) throws -> Result {
      let queue = try DatabaseQueue(path: scratch.path("six"))
      defer { try? queue.close() }
      return try queue.inDatabase(body)
    }
    let log = try outside { db in
      try db.execute(sql: "PRAGMA user_version = 6")
      return try Row.fetchAll(db, sql: "SELECT * FROM tally_log")
    }
    var options = StoreOptions()
    options.isReadOnly = true
    let reading = try Store(existing: scratch.path("six"), options: options)
    #expect(try reading.read { try Int.fetchOne($0, sql: "SELECT sum(n) FROM Note") } == 4)
    try reading.close()
    #expect(try outside { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 6)
    let newer = try scratch.store("six", schema: Schema([EntitySchema("Note", .integer("n"), .counter("m"))]))
    #expect(try newer.summary().fingerprint == fingerprint)
    #expect(try newer.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 7)
    #expect(try newer.read { try Row.fetchAll($0, sql: "SELECT * FROM tally_log") } == log)
    try run(newer, "UPDATE Note SET m = m + 1")
    #expect(try newer.read { try Int.fetchOne($0, sql: "SELECT sum(n + m) FROM Note") } == 6)
    #expect(try newer.verify().problems == [])
  }

  @Test func aLiveAdditionIsSmall() throws {
    let base = try b.vector
    try a.write { try Tile.score.add(1, to: id, in: $0) }
    let (header, blocks) = try a.blocks(since: base)
    let bytes = blocks.map { $0.encoded(replicas: header.target.entries.map(\.replica)).count }
    #expect(bytes.count == 1 && bytes[0] <= 64, "\(bytes)")
  }

  @Test func whyTellsWhatEachDeviceHasAdded() throws {
    try run(a, "UPDATE Tile SET score = score + 5")
    try run(b, "UPDATE Tile SET score = score + 6")
    try a.sync(with: b)
    let history = try #require(try a.history(of: id.name)?.fields.filter { $0.field == "score" })
    #expect(history.filter { !$0.isAddition }.map(\.value) == [.integer(7)])
    #expect(Set(history.filter(\.isAddition).map(\.value)) == [.integer(5), .integer(6)])
    #expect(history.allSatisfy { $0.hiddenReason == nil })
    let replicas = Set([try a.summary().replica, try b.summary().replica].compactMap { $0 })
    #expect(Set(history.filter(\.isAddition).map(\.stamp.dot.replica)) == replicas)
  }

  @Test func anAppThatDoesNotKnowACounterPassesItOn() throws {
    let older = try Store(inMemory: Schema([EntitySchema("Tile", .text("name"))]))
    try run(a, "UPDATE Tile SET score = score + 5")
    try a.sync(with: older)
    try run(older, "UPDATE Tile SET name = 'old'")
    try older.sync(with: b)
    #expect(try score(b) == 12)
    try expectConverged(older, b)
    // A new life that it begins shows none of what was added.
    try run(older, "DELETE FROM Tile")
    try run(older, "INSERT INTO Tile(id, name) VALUES('\(id.name)', 'new')")
    try older.sync(with: b)
    try older.sync(with: a)
    try expectBoth(0)
  }

  @Test func aSeededNumberFollowsItsSeedWithTheAdditionsOnTop() throws {
    func set(_ version: Int, _ score: Int) -> SeedSet {
      SeedSet(
        "tiles", version: version,
        records: [SeedRecord("one", type: "Pawn", ["score": .integer(Int64(score))])])
    }
    for (follows, expected) in [(SeedFollowing.perField, 23), (.untilEdited, 13)] {
      let schema = Schema([EntitySchema("Pawn", follows: follows, .counter("score"), .text("name"))])
      let (one, other) = (try Store(inMemory: schema), try Store(inMemory: schema))
      for store in [one, other] { try store.seed(set(1, 10)) }
      try run(one, "UPDATE Pawn SET score = score + 1")
      try run(other, "UPDATE Pawn SET score = score + 2")
      try one.sync(with: other)
      for store in [one, other] {
        #expect(try store.read { try Int.fetchOne($0, sql: "SELECT score FROM Pawn") } == 13)
        try store.seed(set(2, 20))
      }
      #expect(try one.sync(with: other).isConverged)
      #expect(try one.read { try Int.fetchOne($0, sql: "SELECT score FROM Pawn") } == expected)
      try expectConverged(one, other)
    }
  }

  // MARK: Bad input

  private func expect(
    _ code: StoreError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: (Database) throws -> Void
  ) throws {
    let before = try a.summary()
    let error = #expect(throws: StoreError.self, sourceLocation: sourceLocation) { try a.write(body) }
    #expect(error?.code == code, sourceLocation: sourceLocation)
    #expect(try a.summary() == before, sourceLocation: sourceLocation)
    #expect(try a.verify().problems == [], sourceLocation: sourceLocation)
  }

  @Test func whatNoCounterCanHoldIsRefused() throws {
    for number in ["'many'", "1.5", "9223372036854775807 + 1", "NULL"] {
      #expect(throws: DatabaseError.self) { try run(a, "UPDATE Tile SET score = \(number)") }
      #expect(try score(a) == 7)
    }
    try expect(.valueTooLarge) { try Tile.score.add(.max, to: id, in: $0) }
    try run(a, "UPDATE Tile SET score = 9223372036854775807")
    try expect(.valueTooLarge) { try $0.execute(sql: "UPDATE Tile SET score = -9223372036854775807") }
    try expect(.valueTooLarge) { try Tile.score.set(.min, of: id, in: $0) }
    try expect(.noSuchRecord) { try Tile.score.add(1, to: RecordName(), in: $0) }
    try expect(.noSuchRecord) { try Tile.score.set(1, of: RecordName(), in: $0) }
    let name = id.name
    try expect(.unknownField) { try Self.schema.add($0, name, "points", 1) }
    try expect(.typeMismatch) { try Self.schema.add($0, name, "rank", 1) }
    try expect(.typeMismatch) { try Self.schema.set($0, name, "rank", to: 1) }
    #expect(throws: StoreError.self) { try a.read { try Tile.score.set(1, of: id, in: $0) } }
  }

  @Test func numbersBeyondWhatShowsAreRemembered() throws {
    let most = Int64.max - 7
    try a.write { try Tile.score.add(most, to: id, in: $0) }
    try b.write { try Tile.score.add(most, to: id, in: $0) }
    try expectBoth(Int(Int64.max))
    try a.write { try Tile.score.add(-most, to: id, in: $0) }
    try a.write { try Tile.score.add(-most, to: id, in: $0) }
    try expectBoth(7)
  }

  @Test func schemasSayWhatACounterIs() throws {
    let json = try Self.schema.json()
    #expect(
      try Schema(json: json)["Tile"]?.fields.filter { $0.kind == .counter }.map(\.name).sorted() == ["lives", "score"])
    let short = Data(#"{"entities": [{"type": "Tile", "fields": {"score": "counter"}}]}"#.utf8)
    #expect(try Schema(json: short)["Tile"]?.fields == [FieldSchema("score", .counter, default: .integer(0))])
    for field in [FieldSchema("score", .counter), FieldSchema("score", .counter, default: .text("0"))] {
      #expect(throws: StoreError.self) { try Schema([EntitySchema(type: "Tile", fields: [field])]).validate() }
    }
    let changed = Schema([EntitySchema("Tile", .integer("score", default: 0)), Board.schema])
    #expect(throws: StoreError.self) { try Self.schema.following(changed) }
  }

  /// A field of the same name that is no counter is another field.
  @Test func aRegisterOfTheSameNameStaysApart() throws {
    let register = try Store(inMemory: Schema([EntitySchema("Tile", .integer("score"))]))
    try a.sync(with: register)
    #expect(try register.read { try Int.fetchOne($0, sql: "SELECT score FROM Tile") } == nil)
    try run(register, "UPDATE Tile SET score = 99")
    try run(a, "UPDATE Tile SET score = score + 1")
    try a.sync(with: register)
    #expect(try register.read { try Int.fetchOne($0, sql: "SELECT score FROM Tile") } == 99)
    #expect(try score(a) == 8)
    try expectConverged(a, register)
  }
}
