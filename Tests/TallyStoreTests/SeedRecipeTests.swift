import GRDB
import Tally
import TallyStore
import Testing

/// What `Docs/Seeds.md` says happens when an app follows its recipes.
@Suite struct SeedRecipeTests {
  struct Theme: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema("Theme", .text("name"), .text("colour"), .toMany("related", to: "Theme"))
    static let related = Relationship<Theme, Theme>("related")
    var id = RecordName<Theme>()
    var name: String?
    var colour: String?
  }
  struct Follower: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema("Follower", follows: .perField, .text("name"), .text("colour"))
    var id = RecordName<Follower>()
    var name: String?
    var colour: String?
  }
  struct Talk: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema(
      "Talk", .reference("theme", to: "Theme"), .reference("strict", to: "Theme", onDelete: .deny),
      .reference("owner", to: "Theme", onDelete: .cascade))
    var id = RecordName<Talk>()
    var theme: RecordName<Theme>?
    var strict: RecordName<Theme>?
    var owner: RecordName<Theme>?
  }

  private static let red = RecordName<Theme>(seed: "red", of: "themes")
  private static let blue = RecordName<Theme>(seed: "blue", of: "themes")
  private static let follower = RecordName<Follower>(seed: "follower", of: "themes")
  private static let one = SeedSet(
    "themes", version: 1,
    records: [
      SeedRecord("red", of: Theme.self, ["name": "Red", "colour": "red"]),
      SeedRecord("blue", of: Theme.self, ["name": "Blue"]),
      SeedRecord("follower", of: Follower.self, ["name": "One", "colour": "red"]),
    ])
  private static let two = SeedSet(
    "themes", version: 2,
    records: [
      SeedRecord("blue", of: Theme.self, ["name": "Sky"]),
      SeedRecord("follower", of: Follower.self, ["name": "Two", "colour": "blue"]),
    ],
    retired: [SeedKey("red", of: Theme.self)])
  private static let three = SeedSet(
    "themes", version: 3, records: [SeedRecord("red", of: Theme.self, ["name": "Crimson"])])

  private func store(_ sets: SeedSet...) throws -> Store {
    let store = try Store(inMemory: Schema(Theme.self, Follower.self, Talk.self))
    for set in sets { try store.seed(set) }
    return store
  }

  private func names(_ store: Store) throws -> [String?] {
    #expect(try store.verify().problems == [])
    return try store.read { try Theme.order(Column("name")).fetchAll($0) }.map(\.name)
  }

  @Test func whatOnlyRefersToARetiredRecordReadsNullUntilItIsBack() throws {
    let store = try store(Self.one)
    let talk = Talk(theme: Self.red, strict: Self.red)
    try store.write { try talk.insert($0) }
    try store.seed(Self.two)
    #expect(try names(store) == ["Sky"])
    let without = try store.read { try Talk.find($0, key: talk.id) }
    #expect(without.theme == nil && without.strict == nil)
    try store.seed(Self.three)
    #expect(try names(store) == ["Crimson", "Sky"])
    let with = try store.read { try Talk.find($0, key: talk.id) }
    #expect(with.theme == Self.red && with.strict == Self.red)
  }

  @Test func whatARetiredRecordOwnsOrContainsKeepsIt() throws {
    let (owner, container) = (try store(Self.one), try store(Self.one))
    try owner.write { try Talk(owner: Self.red).insert($0) }
    try container.write { try Theme.related.insert($0, Self.blue, to: Self.red) }
    for store in [owner, container] {
      try store.seed(Self.two)
      #expect(try names(store) == ["Red", "Sky"])
      #expect(try store.read { try Theme.find($0, key: Self.red) }.colour == "red")
    }
  }

  @Test func membersAreNoEditOfTheRecord() throws {
    let store = try store(Self.one)
    try store.write { try Theme.related.insert($0, Self.red, to: Self.blue) }
    #expect(try store.read { try SeededRecord.fetchOne($0, of: Self.blue.name) }?.belongsToUser == false)
    try store.seed(Self.two)
    #expect(try names(store).contains("Sky"))
  }

  @Test func deletedRecordIsNotBroughtBack() throws {
    let store = try store(Self.one)
    try store.write { _ = try Theme.deleteOne($0, key: Self.red) }
    for set in [Self.two, Self.three] { try store.seed(set) }
    #expect(try names(store) == ["Sky"])
  }

  @Test func recordThatAVersionLeavesOutStays() throws {
    #expect(try names(store(Self.one, Self.three)) == ["Blue", "Crimson"])
  }

  @Test func skippedVersionRetiresOnlyIfALaterOneSaysSo() throws {
    var later = Self.two
    later.version = 4
    #expect(try names(store(Self.one, later)) == ["Sky"])
  }

  @Test func fieldsThatNobodyEditedFollowIfTheEntityWantsIt() throws {
    let store = try store(Self.one)
    try store.write { db in
      try db.execute(sql: "UPDATE Follower SET colour = 'green' WHERE id = ?", arguments: [Self.follower])
    }
    try store.seed(Self.two)
    let record = try store.read { try Follower.find($0, key: Self.follower) }
    #expect(record.name == "Two" && record.colour == "green")
    #expect(try store.read { try SeededRecord.fetchOne($0, of: Self.follower.name) }?.belongsToUser == true)
  }

  @Test func recordInsertedUnderASeedsNameIsThePersons() throws {
    let store = try store()
    try store.write { try Theme(id: Self.red, name: "Mine").insert($0) }
    for set in [Self.one, Self.two, Self.three] { try store.seed(set) }
    #expect(try names(store) == ["Mine", "Sky"])
    #expect(try store.read { try Theme.find($0, key: Self.red) }.colour == nil)
  }

  @Test func queriesTellWhatIsWhose() throws {
    let store = try store(Self.one)
    let mine = Theme(name: "Mine")
    try store.write { db in
      try mine.insert(db)
      try db.execute(sql: "UPDATE Theme SET colour = 'navy' WHERE id = ?", arguments: [Self.blue])
    }
    #expect(Set(try store.read { try Theme.seeded().fetchAll($0) }.map(\.id)) == [Self.red, Self.blue])
    #expect(Set(try store.read { try Theme.belongingToUser().fetchAll($0) }.map(\.id)) == [mine.id, Self.blue])
  }

  @Test func appsOfDifferentAgeShowTheNewest() throws {
    let (old, new) = (try store(Self.one), try store(Self.two))
    #expect(try old.sync(with: new).isConverged)
    #expect(try !old.seed(Self.one).isNew)
    for store in [old, new] { #expect(try names(store) == ["Sky"]) }
  }
}
