import Foundation
import GRDB
import Tally
import TallyStore
import Testing

/// Whose a record is, as an app asks for it; and entities whose fields go on following their seed.
@Suite struct SeedRequestTests {
  struct Theme: Entity, Codable, FetchableRecord, PersistableRecord, Equatable {
    static let schema = EntitySchema(
      "Theme", follows: .perField, .text("name"), .text("colour"), .integer("size", default: 12),
      .reference("base", to: "Theme"), .toMany("fonts", to: "Theme"))
    static let fonts = Relationship<Theme, Theme>("fonts")
    var id = RecordName<Theme>()
    var name: String?
    var colour: String?
    var size = 12
    var base: RecordName<Theme>?
  }

  static let one = SeedSet(
    "themes", version: 1,
    records: [
      SeedRecord("light", of: Theme.self, ["name": "Light", "colour": "white"]),
      SeedRecord("dark", of: Theme.self, ["name": "Dark", "size": 10], references: ["base": "light"]),
    ])
  static let two = SeedSet(
    "themes", version: 2,
    records: [
      SeedRecord(
        "light", of: Theme.self, ["name": "Bright", "colour": "ivory", "size": 14], relationships: ["fonts": ["dark"]])
    ], retired: [SeedKey("dark", of: Theme.self)])
  static let (light, dark) = (
    RecordName<Theme>(seed: "light", of: "themes"), RecordName<Theme>(seed: "dark", of: "themes")
  )

  private func store(_ sets: SeedSet...) throws -> Store {
    let store = try Store(inMemory: Schema(Theme.self))
    for set in sets { try store.seed(set) }
    return store
  }

  private func theme(_ name: RecordName<Theme>, _ store: Store) throws -> Theme? {
    try store.read { try Theme.fetchOne($0, key: name) }
  }

  private func paint(_ name: RecordName<Theme>, _ colour: String, _ store: Store) throws {
    try store.write { try $0.execute(sql: "UPDATE Theme SET colour = ? WHERE id = ?", arguments: [colour, name]) }
  }

  @Test func fieldsThatNobodyEditedFollowTheNewestVersion() throws {
    let store = try self.store(Self.one)
    try paint(Self.light, "pink", store)
    try store.seed(Self.two)
    #expect(try theme(Self.light, store) == Theme(id: Self.light, name: "Bright", colour: "pink", size: 14))
    let row = try store.read { try SeededRecord.fetchOne($0, of: Self.light.name) }
    #expect(row?.version == 2 && row?.belongsToUser == true)
    #expect(try store.verify().problems == [])
  }

  @Test func editedRecordThatIsRetiredStaysWithItsOtherFields() throws {
    let store = try self.store(Self.one)
    try paint(Self.dark, "black", store)
    try store.seed(Self.two)
    #expect(
      try theme(Self.dark, store) == Theme(id: Self.dark, name: "Dark", colour: "black", size: 10, base: Self.light))
    #expect(try store.read { try Theme.fonts.members($0, of: Self.light) } == [Self.dark])
    #expect(try store.verify().problems == [])
  }

  @Test func concurrentEditsOnTwoVersionsFollowTheNewest() throws {
    let (old, new) = (try store(Self.one), try store(Self.one, Self.two))
    try paint(Self.light, "pink", old)
    try new.write { try $0.execute(sql: "UPDATE Theme SET size = 20 WHERE id = ?", arguments: [Self.light]) }
    #expect(try old.sync(with: new).isConverged)
    for store in [old, new] {
      #expect(try theme(Self.light, store) == Theme(id: Self.light, name: "Bright", colour: "pink", size: 20))
      #expect(try store.verify().problems == [])
    }
  }

  @Test func valueThatAPersonSetToTheDefaultIsTheirs() throws {
    let store = try self.store(Self.one)
    try store.write { try $0.execute(sql: "UPDATE Theme SET size = 12 WHERE id = ?", arguments: [Self.dark]) }
    try store.write { try $0.execute(sql: "UPDATE Theme SET size = 13 WHERE id = ?", arguments: [Self.light]) }
    try store.write { try $0.execute(sql: "UPDATE Theme SET size = 12 WHERE id = ?", arguments: [Self.light]) }
    try store.seed(Self.two)
    #expect(try theme(Self.dark, store)?.size == 12)
    #expect(try theme(Self.light, store)?.size == 12)
  }

  @Test func deletedRecordStaysDeletedAlsoWhereFieldsFollow() throws {
    let (phone, mac) = (try store(Self.one), try store(Self.one))
    try paint(Self.light, "pink", phone)
    try phone.write { try $0.execute(sql: "DELETE FROM Theme WHERE id = ?", arguments: [Self.light]) }
    try mac.seed(Self.two)
    #expect(try phone.sync(with: mac).isConverged)
    for store in [phone, mac] { #expect(try theme(Self.light, store) == nil) }
  }

  @Test func requestsTellSeedsFromWhatBelongsToAPerson() throws {
    let store = try self.store(Self.one)
    let own = Theme(name: "Own")
    try store.write { try own.insert($0) }
    func names(_ request: QueryInterfaceRequest<Theme>) throws -> [String] {
      try store.read { try request.order(Column("name")).fetchAll($0) }.compactMap(\.name)
    }
    #expect(try names(Theme.seeded()) == ["Dark", "Light"])
    #expect(try names(Theme.belongingToUser()) == ["Own"])
    try paint(Self.light, "pink", store)
    #expect(try names(Theme.seeded()) == ["Dark", "Light"])
    #expect(try names(Theme.belongingToUser()) == ["Light", "Own"])
    #expect(try names(Theme.belongingToUser().filter(Column("colour") == "pink")) == ["Light"])
    try store.write { try $0.execute(sql: "DELETE FROM Theme WHERE id = ?", arguments: [Self.light]) }
    #expect(try names(Theme.seeded()) == ["Dark"])
    try store.restore(Self.light)
    #expect(try names(Theme.belongingToUser()) == ["Light", "Own"])
    try store.seed(Self.two)
    #expect(try names(Theme.seeded()) == ["Bright"])
  }

  @Test func observationFollowsSeedingEditsAndPeers() async throws {
    let (here, there) = (try store(), try store(Self.one))
    var rows = ValueObservation.tracking { db in
      try SeededRecord.order(Column("version"), Column("belongsToUser")).fetchAll(db).map {
        "\($0.version)\($0.belongsToUser ? " mine" : "")"
      }
    }.removeDuplicates().values(in: here).makeAsyncIterator()
    #expect(try await rows.next() == [])
    try await here.seed(Self.one)
    #expect(try await rows.next() == ["1", "1"])
    try paint(Self.dark, "black", there)
    try await there.sync(with: here)
    #expect(try await rows.next() == ["1", "1 mine"])
    try await there.seed(Self.two)
    try await there.sync(with: here)
    // Fields of the one that is a person's follow too, but the newest version has withdrawn it.
    #expect(try await rows.next() == ["1 mine", "2"])
    try await here.write { try $0.execute(sql: "DELETE FROM Theme WHERE id = ?", arguments: [Self.dark]) }
    #expect(try await rows.next() == ["2"])
  }
}
