import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyRig
import TallyWire
import Testing

@testable import TallyStore

/// Fields that keep the greatest or the least value, end to end on stores.
@Suite struct ExtremumTests {
  struct Run: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema(
      "Run", .text("name"), .integer("best", default: 0, keep: .greatest), .real("time", keep: .least))
    static let best = KeptField<Run>("best")
    static let time = KeptField<Run>("time")
    var id = RecordName<Run>()
    var name: String?
    var best = 0
    var time: Double?
  }

  static let schema = Schema(Run.self)
  let (a, b): (Store, Store)
  let id: RecordName<Run>

  init() throws {
    (a, b) = (try Store(inMemory: Self.schema), try Store(inMemory: Self.schema))
    let new = Run(name: "one", best: 7)
    id = new.id
    try a.write { try new.insert($0) }
    try a.sync(with: b)
  }

  private func best(_ store: Store) throws -> Int? {
    try store.read { try Int.fetchOne($0, sql: "SELECT best FROM Run WHERE id = ?", arguments: [id]) }
  }

  private func time(_ store: Store) throws -> Double? {
    try store.read { try Double.fetchOne($0, sql: "SELECT time FROM Run WHERE id = ?", arguments: [id]) }
  }

  private func run(_ store: Store, _ sql: String) throws { try store.write { try $0.execute(sql: sql) } }

  private func expectBoth(_ number: Int?, sourceLocation: SourceLocation = #_sourceLocation) throws {
    #expect(try a.sync(with: b).isConverged, sourceLocation: sourceLocation)
    for store in [a, b] { #expect(try best(store) == number, sourceLocation: sourceLocation) }
    try expectConverged(a, b, sourceLocation: sourceLocation)
  }

  // MARK: What two devices do at once

  /// By SQL, whichever of the two is the later, also where one of them writes something else along.
  @Test func theGreatestStaysOfWhatDevicesWriteAtOnce() throws {
    try run(a, "UPDATE Run SET best = 20")
    try run(b, "UPDATE Run SET best = 10")
    try expectBoth(20)
    try run(b, "UPDATE Run SET best = 40, name = 'two'")
    try run(a, "UPDATE Run SET best = 30")
    try expectBoth(40)
    #expect(try a.conflicts().isEmpty && b.conflicts().isEmpty)
    #expect(try a.read { try Run.fetchOne($0, id: id)?.name } == "two")
  }

  @Test func theLeastStaysAndNullIsNoValue() throws {
    try run(a, "UPDATE Run SET time = 9.5")
    try run(b, "UPDATE Run SET time = 10.25")
    try expectBoth(7)
    for store in [a, b] { #expect(try time(store) == 9.5) }
    try run(a, "UPDATE Run SET time = -1.5")
    try run(b, "UPDATE Run SET time = -0.5")
    try expectBoth(7)
    for store in [a, b] { #expect(try time(store) == -1.5) }
    try run(a, "UPDATE Run SET time = NULL")
    #expect(try time(a) == -1.5)
  }

  /// A field that nobody has written to begins at the same place everywhere.
  @Test func twoDevicesThatAreTheFirstToWriteKeepTheGreatest() throws {
    let other = RecordName<Run>()
    try a.write { try $0.execute(sql: "INSERT INTO Run(id) VALUES(?)", arguments: [other.name.text]) }
    try a.sync(with: b)
    try run(a, "UPDATE Run SET best = 12 WHERE name IS NULL")
    try run(b, "UPDATE Run SET best = 11 WHERE name IS NULL")
    try expectBoth(7)
    for store in [a, b] { #expect(try store.read { try Run.fetchOne($0, id: other)?.best } == 12) }
  }

  /// As two devices do that know one thing by one name, such as the position in a book.
  @Test func twoDevicesThatInsertOneRecordKeepTheGreatest() throws {
    for (store, best) in [(a, 40), (b, 12)] {
      try run(store, "INSERT INTO Run(id, name, best) VALUES('Run|~|book', 'book', \(best))")
    }
    try expectBoth(7)
    for store in [a, b] {
      #expect(try store.read { try Int.fetchOne($0, sql: "SELECT best FROM Run WHERE name = 'book'") } == 40)
    }
    try run(b, "UPDATE Run SET best = 41 WHERE name = 'book'")
    try expectBoth(7)
    #expect(try a.read { try Int.fetchOne($0, sql: "SELECT best FROM Run WHERE name = 'book'") } == 41)
  }

  // MARK: What goes no further

  @Test func aLesserValueIsPutBackWhenTheTransactionEnds() throws {
    let before = try a.summary()
    try a.write { db in
      try db.execute(sql: "UPDATE Run SET best = 3")
      #expect(try Int.fetchOne(db, sql: "SELECT best FROM Run") == 3)
    }
    #expect(try best(a) == 7)
    #expect(try a.summary() == before)
    #expect(try a.verify().problems == [])
    // Beside a write that counts, and after one that goes further.
    try run(a, "UPDATE Run SET best = 3, name = 'two', time = 4")
    try a.write { db in
      try db.execute(sql: "UPDATE Run SET best = 30")
      try db.execute(sql: "UPDATE Run SET best = 20")
    }
    try expectBoth(20)
    #expect(try b.read { try Run.fetchOne($0, id: id)?.name } == "two")
    try run(b, "UPDATE Run SET best = -5")
    try expectBoth(20)
  }

  /// The usual mistake of apps does no harm here.
  @Test func aStructThatWasReadBeforeASyncTakesNothingBack() throws {
    var stale = try #require(try a.read { try Run.fetchOne($0, id: id) })
    try run(b, "UPDATE Run SET best = 50")
    try a.sync(with: b)
    stale.name = "renamed"
    try a.write { [stale] in try stale.update($0) }
    #expect(try best(a) == 50)
    try expectBoth(50)
    #expect(try b.read { try Run.fetchOne($0, id: id)?.name } == "renamed")
  }

  // MARK: Beginning again

  @Test func aSetBeginsAgain() throws {
    try a.write { try Run.best.set(0, of: id, in: $0) }
    try expectBoth(0)
    try run(b, "UPDATE Run SET best = 2")
    try run(a, "UPDATE Run SET best = 1")
    try expectBoth(2)
    try a.write { db in
      try db.execute(sql: "UPDATE Run SET best = 100")
      try Run.best.set(5, of: id, in: db)
      try db.execute(sql: "UPDATE Run SET best = 6")
      try db.execute(sql: "UPDATE Run SET best = 4, name = 'four'")
    }
    #expect(try best(a) == 5)
    try expectBoth(5)
    try a.write { try Run.time.set(1.5, of: id, in: $0) }
    try a.write { try Run.time.set(nil, of: id, in: $0) }
    #expect(try time(a) == nil)
    try run(a, "UPDATE Run SET time = 8")
    try expectBoth(5)
    #expect(try time(b) == 8)
  }

  /// Who raised meanwhile reads it in the journal, and can put it back.
  @Test func ofASetAndWhatItHadNotSeenTheSetCounts() throws {
    try run(a, "UPDATE Run SET best = 90")
    try b.write { try Run.best.set(1, of: id, in: $0) }
    try a.sync(with: b)
    try expectBoth(1)
    let conflicts = try a.conflicts() + b.conflicts()
    #expect(conflicts.allSatisfy { $0.field == "best" && $0.loserValue == .integer(90) })
    let conflict = try #require(conflicts.first)
    try (try a.conflicts().isEmpty ? b : a).restore(conflict)
    try expectBoth(90)
  }

  /// What a person decides may be less than what shows.
  @Test func ofTwoSetsTheLaterCountsAndAPersonMayDecideOtherwise() throws {
    func store(at seconds: Double) throws -> Store {
      var options = StoreOptions()
      options.now = { Date(timeIntervalSince1970: seconds) }
      return try Store(inMemory: Self.schema, options: options)
    }
    let (early, late) = (try store(at: 4_000_000_000), try store(at: 4_000_000_100))
    for store in [early, late] { try a.sync(with: store) }
    try early.write { try Run.best.set(9, of: id, in: $0) }
    try late.write { try Run.best.set(4, of: id, in: $0) }
    #expect(try early.sync(with: late).isConverged)
    for store in [early, late] { #expect(try best(store) == 4) }
    let holder = try early.conflicts().isEmpty ? late : early
    let conflict = try #require(try holder.conflicts().first)
    #expect(conflict.loserValue == .integer(9) && conflict.winnerValue == .integer(4))
    try holder.resolve(conflict, with: .integer(2))
    #expect(try early.sync(with: late).isConverged)
    for store in [early, late] { #expect(try best(store) == 2) }
    try expectConverged(early, late)
  }

  /// However far a clock is behind.
  @Test func aRaiseOfWhatWasSetCountsByAClockThatIsBehind() throws {
    var options = StoreOptions()
    options.now = { Date(timeIntervalSince1970: 0) }
    let early = try Store(inMemory: Self.schema, options: options)
    try a.write { try Run.best.set(3, of: id, in: $0) }
    try a.sync(with: early)
    try run(early, "UPDATE Run SET best = 4")
    try early.sync(with: a)
    try expectBoth(4)
    try early.write { try Run.best.set(2, of: id, in: $0) }
    try early.sync(with: a)
    try expectBoth(2)
  }

  @Test func anInsertUnderTheNameOfADeletedRecordSets() throws {
    try run(a, "UPDATE Run SET best = 30")
    _ = try a.write { try Run.deleteOne($0, id: id) }
    try run(a, "INSERT INTO Run(id, best) VALUES('\(id.name)', 2)")
    #expect(try best(a) == 2)
    try expectBoth(2)
    _ = try a.write { try Run.deleteOne($0, id: id) }
    try run(a, "INSERT INTO Run(id) VALUES('\(id.name)')")
    try expectBoth(0)
  }

  // MARK: Deletes

  @Test func aRaiseKeepsARecordThatAnotherDeviceHasDeletedAndARestoreBringsItBack() throws {
    _ = try a.write { try Run.deleteOne($0, id: id) }
    try run(b, "UPDATE Run SET best = 8")
    try expectBoth(8)
    // A write that is put back is none, and keeps nothing.
    _ = try a.write { try Run.deleteOne($0, id: id) }
    try run(b, "UPDATE Run SET best = 8 - 1")
    try expectBoth(nil)
    try a.restore(id)
    try expectBoth(8)
  }

  @Test func aPurgeDropsTheNumberAndWhoHadItInViewBringsItBack() throws {
    try run(b, "UPDATE Run SET best = 21")
    try a.sync(with: b)
    _ = try a.write { try Run.deleteOne($0, id: id) }
    try a.empty(ripe: nil)
    try a.sync(with: b)
    try expectBoth(nil)
    try run(a, "INSERT INTO Run(id, best) VALUES('\(id.name)', 20)")
    try expectBoth(20)
    _ = try a.write { try Run.deleteOne($0, id: id) }
    try a.empty(ripe: nil)
    try run(b, "UPDATE Run SET best = 25")
    try expectBoth(25)
  }

  // MARK: The file and other apps

  @Test func aDeltaHasVersion3AndTheOrdinaryRecordStaysShort() throws {
    #expect(try a.delta()[2] == 3)
    let plain = RecordName<Run>()
    try a.write { try Run(id: plain, name: "plain").insert($0) }
    let clock = try a.read {
      try String.fetchOne($0, sql: "SELECT hex(tally_clock) FROM Run WHERE id = ?", arguments: [plain])
    }
    #expect(clock?.hasPrefix("FFFF") == false)
  }

  @Test func whatAFileHoldsIsTheSameWhenItIsOpenedAgain() throws {
    let scratch = try Scratch()
    let store = try scratch.store("kept", schema: Self.schema)
    try a.sync(with: store)
    try run(store, "UPDATE Run SET best = 13, name = 'thirteen'")
    let summary = try store.summary()
    try store.close()
    let again = try scratch.store("kept", schema: Self.schema)
    #expect(try again.summary().fingerprint == summary.fingerprint)
    #expect(try again.verify().problems == [])
    try run(again, "UPDATE Run SET best = 12")
    #expect(try best(again) == 13)
    try again.sync(with: a)
    try expectBoth(13)
  }

  @Test func anAppThatDoesNotKnowTheFieldPassesItOn() throws {
    let older = try Store(inMemory: Schema([EntitySchema("Run", .text("name"))]))
    try run(a, "UPDATE Run SET best = 31")
    try a.sync(with: older)
    try run(b, "UPDATE Run SET best = 32")
    try run(older, "UPDATE Run SET name = 'old'")
    try older.sync(with: b)
    #expect(try best(b) == 32)
    try expectConverged(older, b)
    try older.sync(with: a)
    try expectBoth(32)
  }

  @Test func aSeededNumberIsWhereItBegins() throws {
    let schema = Schema([EntitySchema("Pawn", .integer("best", keep: .greatest), .text("name"))])
    let set = SeedSet("runs", version: 1, records: [SeedRecord("one", type: "Pawn", ["best": .integer(10)])])
    let (one, other) = (try Store(inMemory: schema), try Store(inMemory: schema))
    for store in [one, other] { try store.seed(set) }
    try run(one, "UPDATE Pawn SET best = 5")
    #expect(try one.read { try Int.fetchOne($0, sql: "SELECT best FROM Pawn") } == 10)
    try run(one, "UPDATE Pawn SET best = 12")
    try run(other, "UPDATE Pawn SET best = 11")
    #expect(try one.sync(with: other).isConverged)
    #expect(try other.read { try Int.fetchOne($0, sql: "SELECT best FROM Pawn") } == 12)
    try expectConverged(one, other)
  }

  @Test func aRegisterOfTheSameNameStaysApart() throws {
    let register = try Store(inMemory: Schema([EntitySchema("Run", .integer("best"))]))
    try a.sync(with: register)
    #expect(try register.read { try Int.fetchOne($0, sql: "SELECT best FROM Run") } == nil)
    try run(register, "UPDATE Run SET best = 99")
    try a.sync(with: register)
    try expectBoth(7)
    try expectConverged(a, register)
  }

  // MARK: Bad input

  @Test func schemasSayWhatIsKept() throws {
    let json = try Self.schema.json()
    #expect(
      try Schema(json: json)
        == Schema([EntitySchema(type: "Run", fields: Run.schema.fields.sorted { $0.name < $1.name })]))
    for field in [
      FieldSchema("name", .text, keep: .greatest), FieldSchema("n", .counter, default: .integer(0), keep: .least),
    ] {
      #expect(throws: StoreError.self) { try Schema([EntitySchema(type: "Run", fields: [field])]).validate() }
    }
    let wrong = Data(#"{"entities": [{"type": "Run", "fields": {"n": {"kind": "integer", "keep": "most"}}}]}"#.utf8)
    #expect(throws: StoreError.self) { try Schema(json: wrong) }
    for keep in [Extremum.least, nil] {
      let changed = Schema([EntitySchema("Run", .integer("best", default: 0, keep: keep))])
      #expect(throws: StoreError.self) { try Self.schema.following(changed) }
    }
  }

  @Test func whatCannotBeSetIsRefused() throws {
    func expect(_ code: StoreError.Code, _ body: (Database) throws -> Void) throws {
      let before = try a.summary()
      let error = #expect(throws: StoreError.self) { try a.write(body) }
      #expect(error?.code == code)
      #expect(try a.summary() == before)
      #expect(try best(a) == 7)
    }
    let name = id.name
    try expect(.noSuchRecord) { try Run.best.set(1, of: RecordName(), in: $0) }
    try expect(.typeMismatch) { try Run.best.set("many", of: id, in: $0) }
    try expect(.typeMismatch) { try Run.best.set(nil, of: id, in: $0) }
    try expect(.typeMismatch) { try Self.schema.set($0, name, "name", to: "x") }
    try expect(.typeMismatch) { try Self.schema.add($0, name, "best", 1) }
    try expect(.unknownField) { try Self.schema.set($0, name, "worst", to: 1) }
    #expect(throws: StoreError.self) { try a.read { try Run.best.set(1, of: id, in: $0) } }
  }
}
