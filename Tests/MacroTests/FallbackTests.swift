#if Macros
  import Foundation
  import Logging
  import Synchronization
  import Tally
  import TallyCRDT
  import TallyMacros
  import Testing

  /// What a version of an app cannot read: it shows as the default, and is not lost.
  @Suite struct FallbackTests {
    /// What the app was made into later: one more mood, addresses of another form.
    enum NewerMood: String, Codable { case good, bad, mixed }

    private let schema = Schema(Person.self, House.self)

    /// A store with a house that `sql` has changed, in one version of the app or another.
    private func store(_ sql: String) throws -> Store {
      let store = try Store(inMemory: schema)
      try store.write { db in
        for key in ["1", "2"] { try House(id: try RecordName(key: key), mood: .bad, rank: .high).insert(db) }
        try db.execute(sql: "UPDATE House SET \(sql) WHERE id = 'House|~|1'")
      }
      return store
    }

    private func houses(_ store: Store) throws -> [House] {
      try store.read { try House.order(House.Columns.id).fetchAll($0) }
    }

    private func text(_ store: Store, _ column: String) throws -> DatabaseValue? {
      try store.read { try DatabaseValue.fetchOne($0, sql: "SELECT \(column) FROM House ORDER BY id LIMIT 1") }
    }

    @Test func anUnknownCaseReadsAsTheDefault() throws {
      let houses = try houses(store("mood = 'mixed', rank = 7, lastMood = 'mixed'"))
      #expect(houses.map(\.mood) == [.good, .bad])
      #expect(houses.map(\.rank) == [.low, .high])
      #expect(houses.map(\.lastMood) == [nil, nil])
    }

    @Test func jsonOfAnotherFormReadsAsTheDefault() throws {
      let houses = try houses(store("address = '{\"lines\": []}', tags = '{}', notes = '[1]'"))
      #expect(houses[0].address == Address() && houses[0].tags == [] && houses[0].notes == nil)
    }

    @Test func nullReadsAsTheDefault() throws {
      let houses = try houses(store("built = NULL, address = NULL, tags = NULL, plan = NULL"))
      #expect(houses[0].built == Date(timeIntervalSince1970: 0) && houses[0].address == Address())
      #expect(houses[0].tags == [] && houses[0].plan == Data())
    }

    @Test func aNullOfAnOuterJoinReadsAsTheDefault() throws {
      let row = Row(["id": "House|~|1", "title": nil, "mood": nil])
      let columns = House.schema.fields.map(\.name) + ["owner"]
      let whole = Row(
        Dictionary(
          uniqueKeysWithValues: columns.map { ($0, nil as (any DatabaseValueConvertible)?) } + [("id", "House|~|1")]))
      let house = try House(row: whole)
      #expect(house.title == "House" && house.mood == .good)
      // There was no row to keep, so a save writes what shows: these columns take no null.
      #expect(try house.databaseDictionary["title"] == "House".databaseValue)
      #expect(throws: StoreError.self) { try House(row: row) }
    }

    /// As `unknown` says, and not as the default. A record that is saved gives it back, but for what was set.
    @Test func aCaseThatIsNotListedReadsAsTheOneForOthers() throws {
      let newer = EntitySchema(
        "Parcel", .text("title", default: ""), .text("route", default: "post"), .text("back"))
      let (old, new) = (try Store(inMemory: Schema(Parcel.self)), try Store(inMemory: Schema([newer])))
      try new.write {
        try $0.execute(sql: "INSERT INTO Parcel(id, route, back) VALUES('Parcel|~|1', 'drone', 'boat')")
      }
      try new.sync(with: old)
      let parcel = try #require(try old.read { try Parcel.fetchOne($0) })
      #expect(parcel.route == .other && parcel.wayBack == .other)
      func stored(after change: (inout Parcel) -> Void) throws -> [String] {
        try old.write { db in
          var parcel = try Parcel.find(db, id: parcel.id)
          change(&parcel)
          try parcel.update(db)
        }
        try old.sync(with: new)
        return try new.read { try String.fetchAll($0, sql: "SELECT title || ' ' || route || ' ' || back FROM Parcel") }
      }
      #expect(try stored { $0.title = "Books" } == ["Books drone boat"])
      #expect(try stored { $0.route = .other } == ["Books drone boat"])
      #expect(try stored { $0.route = .bike } == ["Books bike boat"])
      #expect(try stored { $0.wayBack = .post } == ["Books bike post"])
      for store in [old, new] { #expect(try store.verify().problems == []) }
    }

    @Test func savingWritesBackWhatCouldNotBeRead() throws {
      let store = try store("mood = 'mixed', rank = 7, lastMood = 'mixed', address = '[3]', built = NULL")
      try store.write { db in
        var house = try #require(try House.order(House.Columns.id).fetchOne(db))
        house.title = "Renamed"
        try house.update(db)
      }
      #expect(try text(store, "title") == "Renamed".databaseValue)
      #expect(try text(store, "mood") == "mixed".databaseValue)
      #expect(try text(store, "rank") == 7.databaseValue)
      #expect(try text(store, "lastMood") == "mixed".databaseValue)
      #expect(try text(store, "address") == "[3]".databaseValue)
      #expect(try text(store, "built") == .null)
    }

    @Test func whatIsSetIsWritten() throws {
      let store = try store("mood = 'mixed', lastMood = 'mixed'")
      try store.write { db in
        var house = try #require(try House.order(House.Columns.id).fetchOne(db))
        try house.updateChanges(db) {
          $0.mood = .bad
          $0.lastMood = .good
        }
      }
      #expect(try text(store, "mood") == "bad".databaseValue)
      #expect(try text(store, "lastMood") == "good".databaseValue)
    }

    /// The record remembers more than its row held: that a person has chosen.
    @Test func whatIsSetToAnotherValueAndBackIsWritten() throws {
      let store = try store("mood = 'mixed', lastMood = 'mixed', built = NULL")
      try store.write { db in
        var house = try #require(try House.order(House.Columns.id).fetchOne(db))
        let shown = house
        (house.mood, house.lastMood, house.built) = (.bad, .bad, Date(timeIntervalSince1970: 1))
        try house.update(db)
        (house.mood, house.lastMood, house.built) = (shown.mood, shown.lastMood, shown.built)
        try house.update(db)
      }
      #expect(try text(store, "mood") == "good".databaseValue)
      #expect(try text(store, "lastMood") == .null)
      #expect(try text(store, "built") == "1970-01-01 00:00:00.000".databaseValue)
    }

    /// As a form does that shows all properties, and sets all when it is closed.
    @Test func whatIsSetToWhatItShowsIsWrittenBackAsItWas() throws {
      let store = try store("mood = 'mixed', rank = 7, lastMood = 'mixed', address = '[3]'")
      try store.write { db in
        var house = try #require(try House.order(House.Columns.id).fetchOne(db))
        let form = house
        (house.mood, house.rank, house.lastMood, house.address) = (form.mood, form.rank, form.lastMood, form.address)
        try house.update(db)
      }
      #expect(try text(store, "mood") == "mixed".databaseValue)
      #expect(try text(store, "rank") == 7.databaseValue)
      #expect(try text(store, "lastMood") == "mixed".databaseValue)
      #expect(try text(store, "address") == "[3]".databaseValue)
    }

    @Test func aNewerDeviceGetsItsValueBack() throws {
      let (old, new) = (try store("sold = NULL"), try Store(inMemory: schema))
      try old.sync(with: new)
      try new.write { try $0.execute(sql: "UPDATE House SET mood = 'mixed'") }
      try old.sync(with: new)
      try old.write { db in
        for var house in try House.fetchAll(db) {
          house.title = "Old app"
          try house.save(db)
        }
      }
      #expect(try old.sync(with: new).isConverged)
      let moods = try new.read { try NewerMood.fetchAll($0, sql: "SELECT mood FROM House") }
      #expect(moods == [.mixed, .mixed])
      #expect(try houses(new).map(\.title) == ["Old app", "Old app"])
    }

    @Test func recordsThatShowTheSameAreEqual() throws {
      let (known, unknown) = (try houses(store("mood = 'good'"))[0], try houses(store("mood = 'mixed'"))[0])
      var same = unknown
      same.token = known.token
      #expect(same == known)
    }

    // MARK: - What is an error

    @Test func aRowWithoutAColumnIsAnError() throws {
      let store = try store("rooms = 1")
      let error = #expect(throws: StoreError.self) {
        try store.read { _ = try House.select(House.Columns.id, House.Columns.title).fetchAll($0) }
      }
      #expect(error?.code == .unknownField && error?.message.contains("House.rooms") == true)
    }

    @Test(arguments: [nil, "House", "TestPerson|~|1"]) func aRowWithoutItsNameIsAnError(_ id: String?) throws {
      let error = #expect(throws: StoreError.self) { try Person2(row: Row(["id": id])) }
      #expect(error?.code == .invalidName)
    }

    // MARK: - The log

    @Test func aColumnIsLoggedOnce() throws {
      let lines = Lines()
      try FallbackLog.$current.withValue(FallbackLog(Logger(label: "test") { _ in lines })) {
        for mood in ["mixed", "odd", "good"] {
          var row = try House().databaseDictionary
          row["mood"] = mood.databaseValue
          row["built"] = .null
          row["tags"] = "{}".databaseValue
          _ = try House(row: Row(row))
        }
      }
      #expect(
        lines.texts == [
          "warning House.mood has a value that this version of the app cannot read; it reads as its default",
          "warning House.tags has a value that this version of the app cannot read; it reads as its default",
        ])
    }
  }

  /// An entity with nothing but a name.
  @Entity struct Person2 {
    let id: RecordName<Person2>
  }

  extension FallbackTests.NewerMood: DatabaseValueConvertible {}

  /// Keeps what is logged.
  private final class Lines: LogHandler {
    private let kept = Mutex<[String]>([])
    var texts: [String] { kept.withLock { $0 } }
    var metadata: Logger.Metadata {
      get { [:] }
      set {}
    }
    var logLevel: Logger.Level {
      get { .trace }
      set {}
    }
    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
      get { nil }
      set {}
    }
    func log(event: LogEvent) {
      kept.withLock { $0.append("\(event.level) \(event.message)") }
    }
  }
#endif
