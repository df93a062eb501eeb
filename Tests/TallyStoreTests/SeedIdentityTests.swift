import Foundation
import GRDB
import Tally
import TallyCRDT
import TallyStore
import TallyWire
import Testing

/// Identities and bytes that every device has in common for ever: what is found changed here is another virtual
/// replica, and every seed there is would come a second time.
@Suite struct SeedIdentityTests {
  struct Stop: Entity, Codable, FetchableRecord, PersistableRecord {
    static let schema = EntitySchema(
      "Stop", .text("name"), .integer("rank", default: 1), .real("weight"), .bool("isOpen", default: false),
      .date("since"), .blob("icon"), .reference("next", to: "Stop"), .toMany("near", to: "Stop"))
    var id = RecordName<Stop>()
    var name: String?
    var rank = 1
    var weight: Double?
    var isOpen = false
    var since: Date?
    var icon: Data?
    var next: RecordName<Stop>?
  }

  static let set = SeedSet(
    "stops", version: 2,
    records: [
      SeedRecord(
        "park", of: Stop.self,
        ["name": "Park", "rank": 3, "weight": 1.5, "icon": .blob([0, 255])],
        references: ["next": "port"], relationships: ["near": ["port", "park"]]),
      SeedRecord("port", of: Stop.self, ["name": "H\u{E4}fen"]),
    ], retired: [SeedKey("old", of: Stop.self)])

  private func replica(_ set: SeedSet) throws -> ReplicaID {
    try Store(inMemory: Schema(Stop.self)).seed(set).replica
  }

  private func changed(_ change: (inout SeedSet) -> Void) throws -> ReplicaID {
    var set = Self.set
    change(&set)
    return try replica(set)
  }

  private func golden(_ name: String) throws -> [UInt8] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden")
    let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    let digits = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.joined().compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }

  private func content(_ delta: [UInt8]) throws -> (header: DeltaHeader, blocks: [DeltaBlock]) {
    var reader = try DeltaReader(delta)
    var blocks: [DeltaBlock] = []
    while let block = try reader.nextBlock() { blocks.append(block) }
    return (reader.header, blocks)
  }

  @Test func namesOfRecordsAreVersion5UUIDs() {
    #expect(RecordName<Stop>(seed: "park", of: "stops").name.text == "Stop|~|bd922088-b60d-58de-b4a5-8d91c9853284")
    #expect(SeedIdentity.uuid(ofSet: "stops").uuidString == "385BDC03-93EF-58DA-947D-80670B8802A9")
  }

  @Test func idOfTheVirtualReplicaIsPinned() throws {
    #expect(try replica(Self.set).description == "8641d620c95e339529448da31c1a6902")
  }

  /// The blocks are compared and not their bytes, which another version of zstd may compress differently. The id of the
  /// virtual replica, which hashes the bytes before compression, pins those.
  @Test func historyOfASeedSetIsPinned() throws {
    let store = try Store(inMemory: Schema(Stop.self))
    try store.seed(Self.set)
    let bytes = try store.delta()
    let (now, pinned) = (try content(bytes), try content(golden("seed-set.hex")))
    #expect(
      now.header == pinned.header && now.blocks == pinned.blocks, "seed-set.hex is now:\n\(Hexadecimal.text(bytes))")
  }

  @Test func pinnedBytesReadAsTheSet() throws {
    let (received, seeded) = (try Store(inMemory: Schema(Stop.self)), try Store(inMemory: Schema(Stop.self)))
    try received.apply(try golden("seed-set.hex"))
    try seeded.seed(Self.set)
    #expect(try received.summary() == seeded.summary())
    #expect(try !received.seed(Self.set).isNew)
    #expect(try received.verify().problems == [])
  }

  @Test func idDependsOnEverythingThatIsInTheSet() throws {
    var ids: Set = [try replica(Self.set)]
    let changes: [(inout SeedSet) -> Void] = [
      { $0.name = "halts" }, { $0.version = 3 }, { $0.retired = [] },
      { $0.retired = [SeedKey("older", of: Stop.self)] },
      { $0.records[1].fields["name"] = "Hafen" }, { $0.records[1].fields["rank"] = 2 },
      { $0.records[0].references = [:] }, { $0.records[0].relationships["near"] = ["port"] },
      { $0.records.append(SeedRecord("pier", of: Stop.self)) },
      // Composed and decomposed text look alike and are not.
      { $0.records[1].fields["name"] = "Ha\u{308}fen" },
    ]
    for change in changes { ids.insert(try changed(change)) }
    #expect(ids.count == changes.count + 1)
  }

  @Test func idDoesNotDependOnWhatIsNotInTheSet() throws {
    let id = try replica(Self.set)
    #expect(try changed { $0.records.reverse() } == id)
    #expect(try changed { $0.records[0].relationships["near"] = ["park", "port", "park"] } == id)
    #expect(try changed { $0.records[0].fields["rank"] = .integer(3) } == id)
    // Defaults and nulls say nothing.
    #expect(try changed { $0.records[1].fields["rank"] = 1 } == id)
    #expect(try changed { $0.records[1].fields["weight"] = .null } == id)
    #expect(try changed { $0.adoptions = [SeedAdoption(of: Stop.self, matching: ["name"])] } == id)
    for _ in 0..<20 {
      // Dictionaries of another capacity have another order.
      let set = try changed { set in
        for index in set.records.indices {
          let fields = set.records[index].fields
          set.records[index].fields = [:]
          set.records[index].fields.reserveCapacity(Int.random(in: 1...200))
          for (column, value) in fields.shuffled() { set.records[index].fields[column] = value }
        }
      }
      #expect(set == id)
    }
  }

  @Test func datesAreTheSameInEveryTimeZone() throws {
    let own = NSTimeZone.default
    defer { NSTimeZone.default = own }
    var ids = Set<ReplicaID>()
    for zone in ["UTC", "Pacific/Kiritimati", "America/St_Johns"] {
      guard let zone = TimeZone(identifier: zone) else { continue }
      NSTimeZone.default = zone
      let stop = Stop(name: "Pier", since: Date(timeIntervalSince1970: 1_600_000_000.125))
      ids.insert(try replica(SeedSet("stops", version: 1, records: [SeedRecord("pier", stop)])))
    }
    #expect(ids.count == 1)
  }

  @Test func typesThatTheSetDoesNotUseChangeNothing() throws {
    let store = try Store(inMemory: Schema(Person.self, Stop.self, Game.self))
    #expect(try store.seed(Self.set).replica == replica(Self.set))
  }
}
