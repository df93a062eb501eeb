import TallyCRDT
import TallyTesting
import Testing

@testable import TallyWire

/// A block that is read with packed records is the block that is read without them, and whatever one way refuses, the
/// other refuses.
@Suite struct PackedDecodingTests {
  private static let limits = [
    Dot(replica: ReplicaID(high: 1, low: 2), sequence: 90), Dot(replica: ReplicaID(high: 3, low: 4), sequence: 7),
  ]
  private static let fields = ["alpha", "beta", "gamma", "name"]

  private static func value(_ random: inout SplitMix64) -> Value {
    switch random.below(9) {
    case 0: .null
    case 1: .integer(Int64(random.below(3)) - 1)
    case 2: .integer(Int64(bitPattern: random.next()))
    case 3: .real(Double(random.below(100)) / 4)
    case 4: .text("t\(random.below(1000))")
    case 5: .text(String(repeating: "ü", count: random.below(90)))
    case 6: .blob((0..<random.below(20)).map { UInt8($0) })
    case 7: .text("Thing|~|386c1919-5f25-4be2-975f-5b34506c51d\(random.below(9))")
    default: .text("")
    }
  }

  /// Records of every sort: with one stamp and with several, with UUIDs and with texts as keys, deleted, without
  /// fields.
  private static func block(_ seed: UInt64) throws -> DeltaBlock {
    var random = SplitMix64(seed: seed)
    func stamp(_ random: inout SplitMix64) -> Stamp {
      let limit = limits[random.below(2)]
      let dot = Dot(replica: limit.replica, sequence: 1 + UInt64(random.below(Int(limit.sequence))))
      // A dot has one time.
      return Stamp(time: HybridTime(milliseconds: 1_000 * dot.sequence), dot: dot)
    }
    var groups: [DeltaBlock.Records] = []
    for type in ["Other", "Thing"] {
      var group = DeltaBlock.Records(type: type, fields: fields, items: [])
      for number in 0..<1 + random.below(12) {
        let key = random.chance(80) ? "386c1919-5f25-4be2-975f-5b34506c5\(100 + number)" : "key \(number)"
        let stamp = stamp(&random)
        var cells: [FieldCell] = []
        for field in fields.indices where random.chance(60) {
          cells.append(FieldCell(field: FieldID(rawValue: UInt32(field)), stamp: stamp, value: value(&random)))
        }
        var state = RecordState(inserted: stamp, fields: cells)
        if random.chance(15), let last = cells.indices.last {
          state.fields[last].stamp = Stamp(time: HybridTime(milliseconds: 90_000), dot: limits[0])
        }
        if random.chance(10) {
          let context = StateVector(limits.map { ($0.replica, $0.sequence) })
          let delete = Stamp(time: HybridTime(milliseconds: 7_000), dot: limits[1])
          state.deletes = [Delete(stamp: delete, context: context)]
        }
        if random.chance(25), !state.fields.isEmpty { state.existence = nil }
        if random.chance(10) {
          let delete = Stamp(time: HybridTime(milliseconds: 7_000), dot: limits[1])
          let context = StateVector(limits.map { ($0.replica, $0.sequence) })
          state = RecordState(delete: Delete(stamp: delete, context: context))
        }
        group.items.append(.init(name: try AnyRecordName(type: type, key: key), state: state))
      }
      groups.append(group)
    }
    return DeltaBlock(records: groups)
  }

  /// A block as sets, since packed records come after the others.
  private static func content(_ block: DeltaBlock) -> [String: Set<DeltaBlock.Record>] {
    var content: [String: Set<DeltaBlock.Record>] = [:]
    for group in block.records { content[group.type, default: []].formUnion(group.items) }
    return content
  }

  private static func read(_ bytes: [UInt8], packs: Bool) throws(WireError) -> BlockDraft {
    try BlockDraft(canonical: bytes, limits: limits, packs: packs)
  }

  @Test func bothWaysReadTheSame() throws {
    var packedCount: [PackedRecords.Content: Int] = [:]
    for seed in UInt64(1)...300 {
      let bytes = try Self.block(seed).encoded(replicas: Self.limits.map(\.replica))
      let (states, packed) = (try Self.read(bytes, packs: false), try Self.read(bytes, packs: true))
      #expect(states.packed.isEmpty)
      for item in packed.packed.flatMap(\.items) { packedCount[item.content, default: 0] += 1 }
      #expect(try Self.content(packed.unpacked()) == Self.content(states.block), "seed \(seed)")
    }
    for content in [PackedRecords.Content.insert, .edit, .delete] { #expect(packedCount[content, default: 0] > 100) }
  }

  @Test func bothWaysRefuseTheSame() throws {
    var (accepted, refused) = (0, 0)
    for seed in UInt64(1)...3_000 {
      var random = SplitMix64(seed: seed)
      var bytes = try Self.block(1 + seed % 50).encoded(replicas: Self.limits.map(\.replica))
      for _ in 0...random.below(2) {
        let place = random.below(bytes.count)
        bytes[place] = random.chance(50) ? bytes[place] ^ 1 << UInt8(random.below(8)) : UInt8(random.below(256))
      }
      let states = try? Self.read(bytes, packs: false)
      let packed = try? Self.read(bytes, packs: true)
      if let states, let packed {
        accepted += 1
        #expect(try Self.content(packed.unpacked()) == Self.content(states.block), "seed \(seed)")
      } else {
        refused += 1
        #expect(states == nil && packed == nil, "seed \(seed)")
      }
    }
    #expect(accepted > 200 && refused > 200, "\(accepted) \(refused)")
  }
}
