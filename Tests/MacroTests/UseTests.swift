#if Macros
  import Foundation
  import Tally
  import TallyMacros
  import Testing

  /// Entities that the macro made, in stores.
  @Suite struct UseTests {
    /// What `House` would be by hand.
    struct HouseByHand: Entity, Codable, FetchableRecord, PersistableRecord {
      static let schema = EntitySchema(
        "House", deleteWins: true, follows: .perField,
        .text("title", default: "House"), .integer("rooms"), .integer("floors", default: -1),
        .real("size", default: 1.5), .bool("isSold", default: false), .text("mood", default: "good"),
        .integer("rank", default: 1), .text("lastMood"), .date("built"), .date("sold"), .uuid("token"), .blob("plan"),
        .json("address"), .json("tags"), .json("notes"), .text("site"),
        .text("price", default: "0", renamedFrom: "cost"), .position("place", within: "owner"),
        .reference("owner", to: "TestPerson", onDelete: .cascade, isIndexed: false),
        .toMany("guests", to: "TestPerson", ordered: true), .toMany("tenants", to: "TestPerson"))
      var id = RecordName<HouseByHand>()
      var title = "House"
      var rooms: Int?
      var floors = -1
      var size = 1.5
      var isSold = false
      var mood = Mood.good
      var rank = 1
      var lastMood: Mood?
      var built = Date(timeIntervalSince1970: 0)
      var sold: Date?
      var token = UUID()
      var plan = Data()
      var address = Address()
      var tags: [String] = []
      var notes: [String: Int]?
      var site: URL?
      var price: Decimal = 0
      var owner: RecordName<Person>?
      var place: ListPosition?
    }

    private static let schema = Schema(Person.self, House.self)

    private static let full = House(
      title: "Villa", rooms: 7, floors: 2, size: 250.25, isSold: true, mood: .bad, rank: .high, lastMood: .good,
      built: Date(timeIntervalSince1970: 1_700_000_000.125), sold: Date(timeIntervalSince1970: 1_800_000_000),
      token: UUID(), plan: Data([1, 2, 0, 255]), address: Address(street: "Main \"Street\"", numbers: [1, 2]),
      tags: ["a", "ü"], notes: ["b": 2, "a": 1], site: URL(string: "https://example.org/a?b"), price: Decimal(12.5),
      owner: RecordName(uuid: UUID()))

    // MARK: - The same as by hand

    @Test func theSchemaIsThatOfAHandWrittenEntity() {
      #expect(House.schema == HouseByHand.schema)
      #expect(Badge.schema.unique == [.on("code"), .on("name", .rename)])
      #expect(Badge.schema.fields.map(\.name) == ["name", "code"])
      let person = EntitySchema(
        "TestPerson", .text("name", default: ""), .reference("friend", to: "TestPerson"),
        .reference("home", to: "House"))
      #expect(Person.schema == person)
      #expect(House.databaseTableName == "House" && Person.databaseTableName == "TestPerson")
    }

    @Test func theRowIsThatOfAHandWrittenRecord() throws {
      for house in [House(), Self.full] {
        let row = try house.databaseDictionary
        let byHand = try HouseByHand(row: Row(row))
        #expect(try byHand.databaseDictionary == row)
        #expect(try House(row: Row(try byHand.databaseDictionary)) == house)
      }
    }

    @Test func twoEntitiesMayReferToEachOther() {
      #expect(Person.schema.references.map(\.to) == ["TestPerson", "House"])
      #expect(House.schema.references.map(\.to) == ["TestPerson"])
    }

    @Test func aStoreTakesThem() throws {
      try Self.schema.validate()
      try Self.schema.checkDeclarations()
      let store = try Store(inMemory: Self.schema)
      try store.write { db in
        try Person(id: try RecordName(key: "ann"), name: "Ann").insert(db)
        var house = Self.full
        house.owner = try RecordName(key: "ann")
        try house.insert(db)
        #expect(try House.find(db, id: house.id) == house)
        #expect(try House.filter { $0.title == "Villa" && $0.rooms > 6 }.fetchAll(db) == [house])
        #expect(try House.order(House.Columns.size.desc).fetchCount(db) == 1)
        #expect(try House.updateAll(db, House.Columns.price.set(to: Decimal(3))) == 1)
      }
    }

    @Test func rowsOfRawSQLHaveTheColumnsDefaults() throws {
      let store = try Store(inMemory: Self.schema)
      try store.write { try $0.execute(sql: "INSERT INTO House(id) VALUES('House|~|1')") }
      let house = try #require(try store.read { try House.fetchOne($0) })
      #expect(house.title == "House" && house.floors == -1 && house.mood == .good && house.rank == .low)
      #expect(house.built == Date(timeIntervalSince1970: 0) && house.tags.isEmpty && house.lastMood == nil)
    }

    // MARK: - Two replicas

    @Test func twoReplicasConverge() throws {
      let (phone, tablet) = (try Store(inMemory: Self.schema), try Store(inMemory: Self.schema))
      let (ann, ben) = (Person(name: "Ann"), Person(name: "Ben"))
      let house = House(title: "Hut", owner: ann.id)
      try phone.write { db in
        for person in [ann, ben] { try person.insert(db) }
        try house.insert(db)
        try House.tenants.insert(db, ann.id, to: house.id)
      }
      try phone.sync(with: tablet)
      try phone.write { db in
        var house = try House.find(db, id: house.id)
        try house.updateChanges(db) { $0.mood = .bad }
        try House.tenants.remove(db, ann.id, from: house.id)
      }
      try tablet.write { db in
        var house = try House.find(db, id: house.id)
        try house.updateChanges(db) { $0.address.street = "Lane" }
        try House.tenants.insert(db, ben.id, to: house.id)
      }
      #expect(try phone.sync(with: tablet).isConverged)
      for store in [phone, tablet] {
        let (merged, tenants) = try store.read { db in
          (try House.find(db, id: house.id), try House.tenants.members(db, of: house.id))
        }
        #expect(merged.mood == .bad && merged.address.street == "Lane" && merged.owner == ann.id)
        #expect(tenants == [ben.id])
        #expect(try store.verify().problems == [])
      }
    }

    @Test func theGreatestAndTheLeastOfBothDevicesStay() throws {
      let (phone, tablet) = (try Store(inMemory: Schema(Match.self)), try Store(inMemory: Schema(Match.self)))
      let match = Match(best: 10)
      try phone.write { try match.insert($0) }
      try phone.sync(with: tablet)
      for (store, best, fastest) in [(phone, 30, 9.5), (tablet, 20, 8.25)] {
        try store.write { db in
          var match = try Match.find(db, id: match.id)
          try match.updateChanges(db) { ($0.best, $0.fastest) = (best, fastest) }
        }
      }
      try phone.sync(with: tablet)
      for store in [phone, tablet] {
        let merged = try store.read { try Match.find($0, id: match.id) }
        #expect(merged.best == 30 && merged.fastest == 8.25)
      }
      try tablet.write { db in
        try match.update(db)
        try Match.fastest.set(nil, of: match.id, in: db)
      }
      let merged = try tablet.read { try Match.find($0, id: match.id) }
      #expect(merged.best == 30 && merged.fastest == nil)
    }

    @Test func whatBothDevicesAddToACounterCounts() throws {
      let expected = EntitySchema(
        "Match", .counter("score"), .counter("hits", default: 3, renamedFrom: "goals"),
        .integer("best", default: 0, keep: .greatest), .real("fastest", keep: .least, renamedFrom: "quickest"))
      #expect(Match.schema == expected)
      let (phone, tablet) = (try Store(inMemory: Schema(Match.self)), try Store(inMemory: Schema(Match.self)))
      let match = Match(score: 10)
      try phone.write { try match.insert($0) }
      try phone.sync(with: tablet)
      try phone.write { db in
        try Match.score.add(5, to: match.id, in: db)
        try Match.hits.set(0, of: match.id, in: db)
      }
      // The difference of a saved struct is an addition as well.
      try tablet.write { db in
        var match = try Match.find(db, id: match.id)
        try match.updateChanges(db) { ($0.score, $0.hits) = ($0.score - 2, $0.hits + 1) }
      }
      #expect(try phone.sync(with: tablet).isConverged)
      for store in [phone, tablet] {
        let merged = try store.read { try Match.find($0, id: match.id) }
        #expect(merged.score == 13 && merged.hits == 1)
        #expect(try store.verify().problems == [])
      }
    }

    @Test func aFieldTakesThePlaceOfOneThatAnOlderVersionHas() throws {
      let expected = EntitySchema(
        "Errand", .integer("cents", from: .lens("price", .real, .scale(100))),
        .text(
          "stage", default: "open",
          from: .lens("done", .bool, default: false, .map([false: "open", true: "done", true: "paid"]))),
        .integer(
          "aisle", default: 1, renamedFrom: "place",
          from: .lens("shelf", .text, default: "1", .digits, keepsOldApps: false)),
        .text("feeling", from: .lens("mood", .integer, .map([1: "good", 2: "bad"]))))
      #expect(Errand.schema == expected)
      let old = try Store(
        inMemory: Schema([EntitySchema("Errand", .real("price"), .bool("done", default: false), .integer("mood"))]))
      let new = try Store(inMemory: Schema(Errand.self))
      try old.write {
        try $0.execute(sql: "INSERT INTO Errand(id, price, done, mood) VALUES('Errand|~|1', 1.25, 1, 2)")
      }
      try old.sync(with: new)
      let errand = try #require(try new.read { try Errand.fetchOne($0) })
      #expect(try errand == Errand(id: RecordName(key: "1"), cents: 125, stage: .done, aisle: 1, feeling: .bad))
      try new.write { db in
        var errand = errand
        try errand.updateChanges(db) { ($0.cents, $0.stage) = (250, .paid) }
      }
      try new.sync(with: old)
      let sql = "SELECT price || ' ' || done || ' ' || mood FROM Errand"
      #expect(try old.read { try String.fetchOne($0, sql: sql) } == "2.5 1 2")
    }

    @Test func anEnumCanBeAllThatAColumnTakes() throws {
      let routes = ["post", "bike", "other"]
      let expected = EntitySchema(
        "Parcel", .text("title", default: ""), .text("route", default: "post", oneOf: routes, unknown: "other"),
        .text(
          "wayBack", oneOf: routes, unknown: "other", renamedFrom: "back",
          from: .lens("returned", .bool, .map([true: "post"]))))
      #expect(Parcel.schema == expected)
      let store = try Store(inMemory: Schema(Parcel.self))
      try store.write { try Parcel(id: RecordName(key: "1"), title: "Books", route: .bike).insert($0) }
      for column in ["route", "wayBack"] {
        do {
          try store.write { try $0.execute(sql: "UPDATE Parcel SET \(column) = 'boat'") }
          Issue.record("\(column) took what no case has")
        } catch let error as StoreError {
          #expect(error.code == .typeMismatch)
        }
      }
      let parcel = try #require(try store.read { try Parcel.fetchOne($0) })
      #expect(parcel.route == .bike && parcel.wayBack == nil)
    }

    @Test func aRenamedFieldIsTheSameForAnOlderVersion() throws {
      let old = try Store(
        inMemory: Schema([EntitySchema("House", deleteWins: true, .text("cost", default: "0")), Person.schema]))
      let new = try Store(inMemory: Self.schema)
      try old.write { try $0.execute(sql: "INSERT INTO House(id, cost) VALUES('House|~|1', '99')") }
      try old.sync(with: new)
      #expect(try new.read { try House.fetchAll($0).map(\.price) } == [99])
    }
  }
#endif
