import Foundation
import GRDB
import Tally
import TallyStore
import Testing

/// What a person may rely on when an app ships default data.
@Suite struct SeedTests {
  struct Kind: Entity, Codable, FetchableRecord, PersistableRecord, Equatable {
    static let schema = EntitySchema(
      "Kind", .text("name"), .integer("seconds", default: 60), .text("colour"), .date("createdAt"), .date("updatedAt"),
      .toMany("related", to: "Kind"))
    var id = RecordName<Kind>()
    var name: String?
    var seconds = 60
    var colour: String?
    var createdAt: Date?
    var updatedAt: Date?
  }
  struct Speech: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema(
      "Speech", .text("title"), .reference("kind", to: "Kind"), .reference("parent", to: "Kind", onDelete: .cascade))
    var id = RecordName<Speech>()
    var title: String?
    var kind: RecordName<Kind>?
    var parent: RecordName<Kind>?
  }

  static let one = SeedSet(
    "kinds", version: 1,
    records: [
      SeedRecord("toast", of: Kind.self, ["name": "Toast", "seconds": 120], relationships: ["related": ["eulogy"]]),
      SeedRecord("eulogy", of: Kind.self, ["name": "Eulogy", "colour": "black"]),
      SeedRecord("roast", of: Kind.self, ["name": "Roast"]),
    ])
  static let two = SeedSet(
    "kinds", version: 2,
    records: [
      SeedRecord("toast", of: Kind.self, ["name": "Toast", "seconds": 90, "colour": "gold"]),
      SeedRecord("eulogy", of: Kind.self, ["name": "Eulogy", "colour": "grey"], relationships: ["related": ["pitch"]]),
      SeedRecord("pitch", of: Kind.self, ["name": "Pitch"]),
    ], retired: [SeedKey("roast", of: Kind.self)])

  static let toast = RecordName<Kind>(seed: "toast", of: "kinds")
  static let eulogy = RecordName<Kind>(seed: "eulogy", of: "kinds")
  static let roast = RecordName<Kind>(seed: "roast", of: "kinds")
  static let pitch = RecordName<Kind>(seed: "pitch", of: "kinds")
  static let related = Relationship<Kind, Kind>("related")

  private func store(_ sets: SeedSet...) throws -> Store {
    let store = try Store(inMemory: Schema(Kind.self, Speech.self))
    for set in sets { try store.seed(set) }
    return store
  }

  private func names(_ store: Store) throws -> [String] {
    try store.read { try Kind.order(Column("name")).fetchAll($0) }.compactMap(\.name)
  }

  private func kind(_ name: RecordName<Kind>, _ store: Store) throws -> Kind? {
    try store.read { try Kind.fetchOne($0, key: name) }
  }

  private func converge(_ stores: Store...) throws {
    for _ in 0..<2 {
      for a in stores { for b in stores where a !== b { #expect(try a.sync(with: b).isConverged) } }
    }
    for store in stores { #expect(try store.verify().problems == []) }
  }

  @Test func twoDevicesThatSeededOfflineHaveNothingToTellEachOther() throws {
    let (phone, mac) = (try store(Self.one), try store(Self.one))
    #expect(try phone.summary() == mac.summary())
    #expect(try phone.sync(with: mac).byteCount == 0)
    #expect(try names(phone) == ["Eulogy", "Roast", "Toast"])
    try converge(phone, mac)
  }

  @Test func seedingAgainWritesNothing() throws {
    let store = try self.store(Self.one)
    let before = try store.read { try Int.fetchOne($0, sql: "SELECT total_changes()") }
    let report = try store.seed(Self.one)
    #expect(!report.isNew)
    #expect(try store.read { try Int.fetchOne($0, sql: "SELECT total_changes()") } == before)
  }

  @Test func untouchedSeedFollowsTheNewestVersion() throws {
    let store = try self.store(Self.one, Self.two)
    #expect(try kind(Self.toast, store)?.seconds == 90)
    #expect(try kind(Self.toast, store)?.colour == "gold")
    #expect(try names(store) == ["Eulogy", "Pitch", "Toast"])
    #expect(try store.read { try Self.related.members($0, of: Self.toast) } == [])
    #expect(try store.read { try Self.related.members($0, of: Self.eulogy) } == [Self.pitch])
    #expect(try store.verify().problems == [])
  }

  @Test func editedSeedIsThePersons() throws {
    let store = try self.store(Self.one)
    try store.write { try $0.execute(sql: "UPDATE Kind SET name = 'Cheers' WHERE id = ?", arguments: [Self.toast]) }
    try store.write { try $0.execute(sql: "UPDATE Kind SET colour = 'red' WHERE id = ?", arguments: [Self.roast]) }
    try store.seed(Self.two)
    let mine = try kind(Self.toast, store)
    #expect(mine?.name == "Cheers" && mine?.seconds == 120 && mine?.colour == nil)
    #expect(try store.read { try Self.related.members($0, of: Self.toast) } == [Self.eulogy])
    #expect(try kind(Self.roast, store)?.colour == "red")
    let row = try store.read { try SeededRecord.fetchOne($0, of: Self.toast.name) }
    #expect(row?.belongsToUser == true && row?.version == 1)
    #expect(try store.verify().problems == [])
  }

  @Test func concurrentEditsTakeTheNewerVersion() throws {
    let (old, new) = (try store(Self.one), try store(Self.one, Self.two))
    try old.write { try $0.execute(sql: "UPDATE Kind SET name = 'Cheers' WHERE id = ?", arguments: [Self.toast]) }
    try new.write { try $0.execute(sql: "UPDATE Kind SET colour = 'red' WHERE id = ?", arguments: [Self.toast]) }
    try converge(old, new)
    let both = try kind(Self.toast, old)
    #expect(both?.name == "Cheers" && both?.seconds == 90 && both?.colour == "red")
  }

  @Test func deletedSeedNeverReturns() throws {
    let (phone, mac, late) = (try store(Self.one), try store(Self.one), try store(Self.two))
    try phone.write { try $0.execute(sql: "DELETE FROM Kind WHERE id = ?", arguments: [Self.toast]) }
    try mac.seed(Self.two)
    try converge(phone, mac, late)
    try phone.seed(Self.two)
    try converge(phone, mac, late)
    for store in [phone, mac, late] { #expect(try names(store) == ["Eulogy", "Pitch"]) }
  }

  @Test func removedMemberStaysRemoved() throws {
    let again = SeedSet(
      "kinds", version: 3,
      records: [
        SeedRecord("toast", of: Kind.self, relationships: ["related": ["eulogy"]]), SeedRecord("eulogy", of: Kind.self),
      ])
    let store = try self.store(Self.one)
    try store.write { try Self.related.remove($0, Self.eulogy, from: Self.toast) }
    try store.seed(again)
    #expect(try store.read { try Self.related.members($0, of: Self.toast) } == [])
    try store.write { try Self.related.insert($0, Self.eulogy, to: Self.toast) }
    #expect(try store.read { try Self.related.members($0, of: Self.toast) } == [Self.eulogy])
    #expect(try store.verify().problems == [])
  }

  @Test func restoredSeedComesBackAsItWas() throws {
    let store = try self.store(Self.one)
    try store.write { try $0.execute(sql: "DELETE FROM Kind WHERE id = ?", arguments: [Self.toast]) }
    try store.restore(Self.toast)
    #expect(try kind(Self.toast, store)?.seconds == 120)
    try store.seed(Self.two)
    #expect(try kind(Self.toast, store)?.seconds == 120)
    #expect(try store.verify().problems == [])
  }

  @Test func retiredSeedStaysWithWhatAPersonPutIntoIt() throws {
    let (a, b) = (try store(Self.one), try store(Self.one, Self.two))
    try a.write { db in try Speech(title: "Mine", parent: Self.roast).insert(db) }
    try converge(a, b)
    #expect(try kind(Self.roast, b) != nil)
    #expect(try b.read { try Speech.fetchCount($0) } == 1)
  }

  @Test func duplicatesOfOlderVersionsGiveWay() throws {
    let (phone, mac) = (try store(), try store())
    let created = Date(timeIntervalSince1970: 1_600_000_000)
    let copies = [Kind(name: "Toast", seconds: 75, createdAt: created), Kind(name: "Toast", createdAt: created)]
    let edited = Kind(name: "Eulogy", createdAt: created, updatedAt: created)
    let speech = Speech(title: "Mine", kind: copies[0].id, parent: copies[0].id)
    try phone.write { db in
      try copies[0].insert(db)
      try edited.insert(db)
      try speech.insert(db)
      try Self.related.insert(db, edited.id, to: copies[0].id)
    }
    try mac.write { db in try copies[1].insert(db) }
    var set = Self.one
    set.adoptions = [
      SeedAdoption(of: Kind.self, matching: ["name"], present: ["createdAt"], absent: ["updatedAt"])
    ]
    for store in [phone, mac] { #expect(try store.seed(set).adopted.count == 1) }
    try converge(phone, mac)
    for store in [phone, mac] {
      #expect(try names(store) == ["Eulogy", "Eulogy", "Roast", "Toast"])
      let moved = try store.read { try Speech.fetchOne($0, key: speech.id) }
      #expect(moved?.kind == Self.toast && moved?.parent == Self.toast)
      #expect(try store.read { try Self.related.members($0, of: Self.toast) } == [edited.id, Self.eulogy])
      #expect(try kind(Self.toast, store)?.createdAt == created)
      #expect(try store.read { try SeededRecord.fetchOne($0, of: Self.toast.name) }?.belongsToUser == false)
      #expect(try store.seed(set).adopted == [])
      try store.seed(Self.two)
    }
    try converge(phone, mac)
    #expect(try kind(Self.toast, mac)?.colour == "gold")
  }

  @Test func duplicateThatSomebodyEditedConcurrentlyStays() throws {
    let (phone, mac) = (try store(), try store())
    let copy = Kind(name: "Toast")
    let speech = Speech(title: "Mine", kind: copy.id)
    try phone.write { db in
      try copy.insert(db)
      try speech.insert(db)
    }
    try converge(phone, mac)
    var set = Self.one
    set.adoptions = [SeedAdoption(of: Kind.self, matching: ["name"])]
    #expect(try phone.seed(set).adopted == [copy.id.name])
    #expect(try phone.read { try Speech.fetchOne($0, key: speech.id) }?.kind == Self.toast)
    try mac.write { db in
      try db.execute(sql: "UPDATE Kind SET colour = 'red' WHERE id = ?", arguments: [copy.id])
      try Speech(title: "Late", kind: copy.id).insert(db)
    }
    try converge(phone, mac)
    for store in [phone, mac] {
      #expect(try kind(copy.id, store)?.colour == "red")
      #expect(try store.read { try Speech.fetchAll($0) }.allSatisfy { $0.kind == copy.id })
      #expect(try store.seed(set).adopted == [])
    }
  }

  @Test func recordDeletedWhileItsReferenceIsResolvedStaysDeleted() throws {
    let (phone, mac) = (try store(), try store())
    let copy = Kind(name: "Toast")
    let speech = Speech(title: "Mine", kind: copy.id)
    try phone.write { db in
      try copy.insert(db)
      try speech.insert(db)
    }
    try converge(phone, mac)
    var set = Self.one
    set.adoptions = [SeedAdoption(of: Kind.self, matching: ["name"])]
    try phone.seed(set)
    _ = try mac.write { try Speech.deleteAll($0) }
    try converge(phone, mac)
    #expect(try phone.read { try Speech.fetchCount($0) } == 0)
  }

  @Test func badSetsAreRefusedWhole() throws {
    func refusal(_ records: [SeedRecord], retired: [SeedKey] = [], version: Int = 1) throws -> StoreError.Code? {
      let store = try self.store()
      defer { #expect((try? names(store)) == []) }
      do {
        try store.seed(SeedSet("kinds", version: version, records: records, retired: retired))
        return nil
      } catch { return (error as? StoreError)?.code }
    }
    let plain = SeedRecord("a", of: Kind.self)
    #expect(try refusal([plain, plain]) == .invalidSeeds)
    #expect(try refusal([plain], retired: [SeedKey("a", of: Kind.self)]) == .invalidSeeds)
    #expect(try refusal([plain], version: 0) == .invalidSeeds)
    #expect(try refusal([SeedRecord("a", type: "Nothing")]) == .invalidSeeds)
    #expect(try refusal([SeedRecord("a", of: Kind.self, ["nothing": 1])]) == .invalidSeeds)
    #expect(try refusal([SeedRecord("a", of: Kind.self, ["seconds": "long"])]) == .invalidSeeds)
    #expect(try refusal([SeedRecord("a", of: Kind.self, ["seconds": nil])]) == .invalidSeeds)
    #expect(try refusal([SeedRecord("a", of: Speech.self, references: ["kind": "b"])]) == .invalidSeeds)
    #expect(try refusal([plain, SeedRecord("b", of: Kind.self, relationships: ["related": ["c"]])]) == .invalidSeeds)
    #expect(try refusal([SeedRecord("ä", of: Kind.self)]) == .invalidSeeds)
    #expect(try refusal([SeedRecord("", of: Kind.self)]) == .invalidSeeds)
    let store = try self.store(Self.two)
    #expect(throws: StoreError.self) { try store.seed(Self.one) }
  }

  @Test func otherContentUnderOneVersionConverges() throws {
    var other = Self.one
    other.records[0].fields["seconds"] = 30
    let (a, b) = (try store(Self.one), try store(other))
    try converge(a, b)
    #expect(try kind(Self.toast, a)?.seconds == kind(Self.toast, b)?.seconds)
    #expect(try a.seedSets().first?.versions.count == 2)
  }

  @Test func orderOfDeclarationDoesNotMatter() throws {
    var shuffled = Self.one
    shuffled.records.reverse()
    #expect(try store(Self.one).seed(Self.one).replica == store(shuffled).seed(shuffled).replica)
  }
}
