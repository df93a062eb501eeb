import Foundation
import GRDB
import Tally
import TallyStore
import Testing

/// What generated histories have found, each as a scenario.
@Suite struct SeedRegressionTests {
  struct Topic: Entity, Codable, FetchableRecord, PersistableRecord, Equatable {
    static let schema = EntitySchema(
      "Topic", .text("name"), .text("note"), .reference("part", to: "Topic", onDelete: .cascade),
      .toMany("related", to: "Topic"))
    static let related = Relationship<Topic, Topic>("related")
    var id = RecordName<Topic>()
    var name: String?
    var note: String?
    var part: RecordName<Topic>?
  }
  struct Strict: Entity, Codable, FetchableRecord, PersistableRecord, Equatable {
    static let schema = EntitySchema("Strict", deleteWins: true, .text("name"), .text("note"))
    var id = RecordName<Strict>()
    var name: String?
    var note: String?
  }
  struct Item: Entity, Codable, FetchableRecord, PersistableRecord, Equatable {
    static let schema = EntitySchema(
      "Item", .text("title"), .reference("topic", to: "Topic", onDelete: .cascade), .reference("about", to: "Strict"),
      .reference("strict", to: "Strict", onDelete: .cascade))
    var id = RecordName<Item>()
    var title: String?
    var topic: RecordName<Topic>?
    var about: RecordName<Strict>?
    var strict: RecordName<Strict>?
  }

  static let one = SeedSet(
    "set", version: 1,
    records: [
      SeedRecord("x", of: Topic.self, ["name": "X", "note": "first"], relationships: ["related": ["y"]]),
      SeedRecord("y", of: Topic.self, ["name": "Y"]), SeedRecord("s", of: Strict.self, ["name": "S"]),
    ])
  static let (x, y) = (RecordName<Topic>(seed: "x", of: "set"), RecordName<Topic>(seed: "y", of: "set"))
  static let s = RecordName<Strict>(seed: "s", of: "set")

  private func store(_ sets: SeedSet...) throws -> Store {
    let store = try Store(inMemory: Schema(Topic.self, Strict.self, Item.self))
    for set in sets { try store.seed(set) }
    return store
  }

  private func converge(_ stores: Store...) throws {
    for _ in 0..<2 {
      for a in stores { for b in stores where a !== b { #expect(try a.sync(with: b).isConverged) } }
    }
    for store in stores {
      let problems = try store.verify().problems
      #expect(problems == [])
    }
  }

  private func topic(_ name: RecordName<Topic>, _ store: Store) throws -> Topic? {
    try store.read { try Topic.fetchOne($0, key: name) }
  }

  @Test func linkBetweenTwoDuplicatesBecomesOneBetweenTheirSeeds() throws {
    let store = try self.store()
    let (x, y) = (Topic(name: "X"), Topic(name: "Y"))
    try store.write { db in
      try x.insert(db)
      try y.insert(db)
      try Topic.related.insert(db, x.id, to: y.id)
    }
    var set = Self.one
    set.adoptions = [SeedAdoption(of: Topic.self, matching: ["name"])]
    #expect(try store.seed(set).adopted.count == 2)
    #expect(try store.read { try Topic.related.members($0, of: Self.y) } == [Self.x])
    #expect(try store.verify().problems == [])
  }

  @Test func twoDuplicatesOfOneSeedDoNotMakeItAMemberOfItself() throws {
    let store = try self.store()
    let copies = [Topic(name: "Y"), Topic(name: "Y")]
    try store.write { db in
      for copy in copies { try copy.insert(db) }
      try Topic.related.insert(db, copies[1].id, to: copies[0].id)
    }
    var set = Self.one
    set.adoptions = [SeedAdoption(of: Topic.self, matching: ["name"])]
    #expect(try store.seed(set).adopted.count == 2)
    #expect(try store.read { try Topic.related.members($0, of: Self.y) } == [])
  }

  @Test func adoptionDoesNotPutBackWhatAPersonTookOutOfTheSeed() throws {
    let (new, old) = (try store(Self.one), try store())
    try new.write { try Topic.related.remove($0, Self.y, from: Self.x) }
    let (x, y) = (Topic(name: "X"), Topic(name: "Y"))
    try old.write { db in
      try x.insert(db)
      try y.insert(db)
      try Topic.related.insert(db, y.id, to: x.id)
    }
    try converge(new, old)
    var set = Self.one
    set.adoptions = [SeedAdoption(of: Topic.self, matching: ["name"])]
    #expect(try new.seed(set).adopted.count == 2)
    #expect(try new.read { try Topic.related.members($0, of: Self.x) } == [])
  }

  @Test func memberThatCameAfterTheDuplicateGaveWayIsTheSeedsAtTheNextLaunch() throws {
    let (phone, mac) = (try store(Self.one), try store())
    let copy = Topic(name: "Y")
    try mac.write { try copy.insert($0) }
    try converge(phone, mac)
    try phone.write { try Topic.related.insert($0, copy.id, to: Self.y) }
    try phone.write { try Topic.related.insert($0, copy.id, to: Self.x) }
    try phone.write { try Topic.related.remove($0, Self.y, from: Self.x) }
    let other = Topic(name: "Other")
    try phone.write { db in
      try other.insert(db)
      try Topic.related.insert(db, copy.id, to: other.id)
    }
    var set = Self.one
    set.adoptions = [SeedAdoption(of: Topic.self, matching: ["name"])]
    #expect(try mac.seed(set).adopted == [copy.id.name])
    try converge(phone, mac)
    try phone.seed(set)
    try converge(phone, mac)
    for store in [phone, mac] {
      #expect(try store.read { try Topic.related.members($0, of: other.id) } == [Self.y])
      #expect(try store.read { try Topic.related.members($0, of: Self.x) } == [])
      let before = try store.read { try Int.fetchOne($0, sql: "SELECT total_changes()") }
      try store.seed(set)
      #expect(try store.read { try Int.fetchOne($0, sql: "SELECT total_changes()") } == before)
    }
  }

  @Test func adoptionThatClosesACycleBreaksItWhereTheStateSays() throws {
    let store = try self.store()
    let whole = Topic(name: "Y")
    try store.write { db in
      try whole.insert(db)
      try Topic(name: "X", part: whole.id).insert(db)
    }
    try store.seed(
      SeedSet(
        "set", version: 1,
        records: [
          SeedRecord("x", of: Topic.self, ["name": "X"]),
          SeedRecord("y", of: Topic.self, ["name": "Y"], references: ["part": "x"]),
        ], adoptions: [SeedAdoption(of: Topic.self, matching: ["name"])]))
    #expect(try topic(Self.x, store)?.part == Self.y)
    #expect(try topic(Self.y, store)?.part == nil)
    #expect(try store.verify().problems == [])
  }

  @Test func retiredSeedThatIsUsedLooksAsItDid() throws {
    let store = try self.store(Self.one)
    try store.write { try Item(title: "Mine", topic: Self.x).insert($0) }
    try store.seed(SeedSet("set", version: 2, records: [], retired: [SeedKey("x", of: Topic.self)]))
    let shown = try topic(Self.x, store)
    #expect(shown?.name == "X" && shown?.note == "first")
    #expect(try store.read { try Topic.related.members($0, of: Self.x) } == [Self.y])
    #expect(try store.verify().problems == [])
  }

  @Test func newLifeOfADeletedSeedStaysFreeOfLaterVersions() throws {
    let store = try self.store(Self.one)
    try store.write { try $0.execute(sql: "DELETE FROM Topic WHERE id = ?", arguments: [Self.y]) }
    try store.write { try Topic(id: Self.y, name: "Mine").insert($0) }
    try store.seed(
      SeedSet(
        "set", version: 2,
        records: [
          SeedRecord("y", of: Topic.self, ["name": "Y", "note": "new"], relationships: ["related": ["x"]]),
          SeedRecord("x", of: Topic.self),
        ]))
    try store.write { try $0.execute(sql: "UPDATE Topic SET name = 'Still mine' WHERE id = ?", arguments: [Self.y]) }
    #expect(try topic(Self.y, store) == Topic(id: Self.y, name: "Still mine"))
    #expect(try store.read { try Topic.related.members($0, of: Self.y) } == [])
    #expect(try store.verify().problems == [])
  }

  @Test func insertByAPeerThatNeverSeededHidesWhatTheSeedLinked() throws {
    let (seeded, plain) = (try store(Self.one), try store())
    try plain.write { try Topic(id: Self.x, name: "Own").insert($0) }
    try converge(seeded, plain)
    for store in [seeded, plain] {
      #expect(try topic(Self.x, store) == Topic(id: Self.x, name: "Own"))
      #expect(try store.read { try Topic.related.members($0, of: Self.x) } == [])
    }
  }

  @Test func retirementDoesNotTakeAPersonsRecordsWhereDeletesWin() throws {
    let store = try self.store(Self.one)
    try store.write { try Item(title: "Mine", strict: Self.s).insert($0) }
    try store.seed(SeedSet("set", version: 2, records: [], retired: [SeedKey("s", of: Strict.self)]))
    #expect(try store.read { try Item.fetchCount($0) } == 1)
    #expect(try store.verify().problems == [])
    try store.write { try $0.execute(sql: "DELETE FROM Strict") }
    #expect(try store.read { try Item.fetchCount($0) } == 0)
    #expect(try store.verify().problems == [])
  }

  @Test func editedDuplicateStaysWhereDeletesWin() throws {
    let (phone, mac) = (try store(), try store())
    let copy = Strict(name: "S")
    let item = Item(title: "Mine", about: copy.id)
    try phone.write { db in
      try copy.insert(db)
      try item.insert(db)
    }
    try converge(phone, mac)
    try mac.write { try $0.execute(sql: "UPDATE Strict SET note = 'mine'") }
    var set = Self.one
    set.adoptions = [SeedAdoption(of: Strict.self, matching: ["name"])]
    #expect(try phone.seed(set).adopted == [copy.id.name])
    try converge(phone, mac)
    for store in [phone, mac] {
      #expect(try store.read { try Strict.fetchOne($0, key: copy.id) }?.note == "mine")
      #expect(try store.read { try Item.fetchOne($0) }?.about == copy.id)
    }
    try phone.write { try $0.execute(sql: "DELETE FROM Strict WHERE id = ?", arguments: [copy.id]) }
    try mac.write { try $0.execute(sql: "UPDATE Strict SET note = 'late' WHERE id = ?", arguments: [copy.id]) }
    try converge(phone, mac)
    #expect(try phone.read { try Strict.fetchOne($0, key: copy.id) } == nil)
  }
}
