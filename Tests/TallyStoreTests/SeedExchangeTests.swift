import Foundation
import GRDB
import Tally
import TallyWire
import Testing

/// What travels between stores with default data, and what does not.
@Suite struct SeedExchangeTests {
  typealias Kind = SeedTests.Kind
  typealias Speech = SeedTests.Speech

  static let schema = Schema(Kind.self, Speech.self)

  private func store(_ sets: SeedSet...) throws -> Store {
    let store = try Store(inMemory: Self.schema)
    for set in sets { try store.seed(set) }
    return store
  }

  private func blocks(_ delta: [UInt8]) throws -> [DeltaBlock] {
    var reader = try DeltaReader(delta)
    var blocks: [DeltaBlock] = []
    while let block = try reader.nextBlock() { blocks.append(block) }
    return blocks
  }

  /// Enough default data that its bytes would show.
  private static let large = SeedSet(
    "large", version: 1,
    records: (0..<200).map { number in
      SeedRecord(
        "kind \(number)", of: Kind.self, ["name": .text("Kind number \(number)"), "seconds": .integer(Int64(number))],
        relationships: ["related": ["kind \((number + 7) % 200)"]])
    })

  @Test func changeOfOnePersonTravelsWithoutTheSeeds() throws {
    let (phone, mac) = (try store(Self.large), try store(Self.large))
    try phone.write { try Speech(title: "Mine").insert($0) }
    let delta = try phone.delta(since: mac.vector)
    let records = try blocks(delta).flatMap(\.records)
    #expect(records.map(\.type) == ["Speech"])
    #expect(records.flatMap(\.items).count == 1)
    #expect(try blocks(delta).flatMap(\.links).isEmpty)

    // The vector has one entry more than that of stores without seeds, and that is all.
    let (plain, other) = (try store(), try store())
    try plain.write { try Speech(title: "Mine").insert($0) }
    let without = try plain.delta(since: other.vector)
    #expect(delta.count <= without.count + 48)
    #expect(try phone.delta().count > 20 * delta.count)
    let report = try phone.sync(with: mac)
    #expect(report.isConverged && report.second.changes == 1)
  }

  @Test func editOfASeedTravelsAsTheEditAndWhatThePersonHadInFrontOfThem() throws {
    let (phone, mac) = (try store(Self.large), try store(Self.large))
    let name = RecordName<Kind>(seed: "kind 3", of: "large")
    try phone.write { try $0.execute(sql: "UPDATE Kind SET colour = 'red' WHERE id = ?", arguments: [name]) }
    let delta = try phone.delta(since: mac.vector)
    let items = try blocks(delta).flatMap(\.records).flatMap(\.items)
    #expect(items.map(\.name) == [name.name])
    #expect(items.first?.state.fields.count == 1)
    #expect(items.first?.state.seed?.layers == [])
    #expect(items.first?.state.seed?.basis?.layer.time.milliseconds == 1)
    #expect(delta.count < 220)
    #expect(try phone.sync(with: mac).isConverged)
    #expect(try phone.sync(with: mac).byteCount == 0)
  }

  @Test func newVersionTravelsOnceToWhoLacksIt() throws {
    let (old, new) = (try store(SeedTests.one), try store(SeedTests.one, SeedTests.two))
    let delta = try new.delta(since: old.vector)
    let layers = try blocks(delta).flatMap(\.records).flatMap(\.items).flatMap { $0.state.seed?.layers ?? [] }
    #expect(Set(layers.map(\.version)) == [2])
    #expect(try old.sync(with: new).isConverged)
    let report = try old.seed(SeedTests.two)
    #expect(!report.isNew)
    #expect(try old.sync(with: new).byteCount == 0)
  }

  /// A device that makes no use of seeds still carries them from one to another.
  @Test func setPassesThroughADeviceThatNeverSeeded() throws {
    let (new, relay, late) = (try store(SeedTests.one, SeedTests.two), try store(), try store())
    try new.write { try $0.execute(sql: "UPDATE Kind SET colour = 'red' WHERE id = ?", arguments: [SeedTests.toast]) }
    #expect(try new.sync(with: relay).isConverged)
    #expect(try relay.sync(with: late).isConverged)
    #expect(try relay.seedSets().map(\.applied) == [nil])
    #expect(try !late.seed(SeedTests.two).isNew)
    #expect(try late.read { try Kind.fetchOne($0, key: SeedTests.toast) }?.colour == "red")
    for store in [new, relay, late] { #expect(try store.verify().problems == []) }
    #expect(try relay.summary().replica == nil)
  }

  @Test func setOfAnUnknownTypeIsKeptForwardedAndShownAfterTheUpgrade() throws {
    let scratch = try Scratch()
    let old = Schema(Speech.self).without(["kind", "parent"])
    let new = try store(SeedTests.one)
    try new.write { try $0.execute(sql: "UPDATE Kind SET colour = 'red' WHERE id = ?", arguments: [SeedTests.eulogy]) }
    let older = try scratch.store("older", schema: old)
    #expect(try new.sync(with: older).isConverged)
    try new.seed(SeedTests.two)
    #expect(try new.sync(with: older).isConverged)
    #expect(try older.verify().problems == [])
    let third = try store()
    #expect(try older.sync(with: third).isConverged)
    try older.close()
    let upgraded = try scratch.store("older", schema: Self.schema)
    for store in [third, upgraded] {
      #expect(try store.verify().problems == [])
      let names = try store.read { try Kind.order(Column("name")).fetchAll($0) }
      #expect(names == (try new.read { try Kind.order(Column("name")).fetchAll($0) }))
      #expect(names.compactMap(\.name) == ["Eulogy", "Pitch", "Toast"])
      let rows = try store.read { try SeededRecord.order(Column("name")).fetchAll($0) }
      #expect(rows == (try new.read { try SeededRecord.order(Column("name")).fetchAll($0) }))
      #expect(rows.filter(\.belongsToUser).map(\.name) == [SeedTests.eulogy.name.text])
      #expect(try store.read { try SeedTests.related.members($0, of: SeedTests.eulogy) } == [])
    }
    #expect(try !upgraded.seed(SeedTests.two).isNew)
    #expect(try upgraded.sync(with: new).byteCount == 0)
  }
}

extension Schema {
  fileprivate func without(_ references: [String]) -> Schema {
    Schema(
      entities.map { entity in
        var entity = entity
        entity.references.removeAll { references.contains($0.name) }
        return entity
      })
  }
}
