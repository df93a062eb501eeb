import TallyCRDT
import Testing

@testable import TallyWire

/// A record goes into a block packed or as a state: its bytes are the same.
@Suite struct PackedRecordsTests {
  private static let replica = ReplicaID(high: 1, low: 2)
  private static func stamp(_ sequence: UInt64) -> Stamp {
    Stamp(time: HybridTime(milliseconds: 1000 + sequence), dot: Dot(replica: replica, sequence: sequence))
  }
  private static let values: [Value] = [
    .integer(0), .integer(-1), .integer(.max), .integer(.min), .real(1.5), .real(0), .text(""), .text("käse"),
    .text(String(repeating: "long ", count: 300)), .blob([]), .blob([0, 255]), .null,
    .text("Thing|~|386c1919-5f25-4be2-975f-5b34506c51db"), .text("Thing|~|386C1919-5F25-4BE2-975F-5B34506C51DB"),
  ]
  private static let fields = ["alpha", "beta", "gamma"]

  private struct Sample {
    var name: AnyRecordName
    var content: PackedRecords.Content
    var stamp: Stamp
    /// By place in `fields`; none for a field at its default.
    var values: [Value?]
  }

  private static func samples(_ isUsed: (Int) -> Bool) throws -> [Sample] {
    try (0..<200).map { number in
      let id = "00000000-0000-4000-8000-0000000\(Hexadecimal.text(UInt64(number * 7919 % 65_521)).suffix(5))"
      let cells = fields.indices.map { field in
        isUsed(field) && (number + field) % 3 != 0 ? values[(number * 5 + field) % values.count] : nil
      }
      let name = try AnyRecordName(type: "Thing", key: id)
      let hasCells = cells.contains { $0 != nil }
      let content: PackedRecords.Content =
        switch number % 7 {
        case 1, 4: hasCells ? .edit : .insert
        case 2: .delete
        default: .insert
        }
      return Sample(name: name, content: content, stamp: stamp(UInt64(1 + number / 9)), values: cells)
    }
  }

  private static func state(_ sample: Sample) -> RecordState {
    let cells = sample.values.enumerated().compactMap { field, value in
      value.map { FieldCell(field: FieldID(rawValue: UInt32(field)), stamp: sample.stamp, value: $0) }
    }
    return switch sample.content {
    case .insert: RecordState(inserted: sample.stamp, fields: cells)
    case .edit: RecordState(fields: cells)
    case .delete: RecordState(delete: delete(sample))
    }
  }

  private static func delete(_ sample: Sample) -> Delete {
    Delete(stamp: sample.stamp, context: StateVector([(replica, sample.stamp.dot.sequence)]))
  }

  private static func pack(_ sample: Sample, into records: inout PackedRecords) throws {
    guard case .uuid(let high, let low) = RecordKey(sample.name) else { throw WireError(.malformed, "no UUID") }
    guard sample.content != .delete else { return records.append((high, low), delete(sample)) }
    let limit = sample.values.reduce(0) { $0 + ValuePacker.limit(max(8, $1?.byteCount ?? 0)) }
    let size = records.append((high, low), sample.stamp, sample.content, limit: limit) { packer in
      var mask: UInt64 = 0
      for (field, value) in sample.values.enumerated() {
        guard let value else { continue }
        mask |= 1 << UInt64(field)
        switch value {
        case .null: packer.null()
        case .integer(let number): packer.integer(number)
        case .real(let number): packer.real(number)
        case .text(var text): text.withUTF8 { packer.text($0) }
        case .blob(let bytes): bytes.withUnsafeBytes { packer.blob($0) }
        }
      }
      return mask
    }
    #expect(size != nil)
  }

  @Test(arguments: [[0, 1, 2], [1], [0, 2], []], [0, 1, 3])
  func packedRecordsHaveTheBytesOfTheirStates(used: [Int], every: Int) throws {
    let samples = try Self.samples(used.contains)
    let states = samples.map { DeltaBlock.Record(name: $0.name, state: Self.state($0)) }
    let whole = DeltaBlock(records: [.init(type: "Thing", fields: Self.fields, items: states)])
    var packed = PackedRecords(type: "Thing", fields: Self.fields)
    var rest: [DeltaBlock.Record] = []
    for (number, sample) in samples.enumerated() {
      if every > 0, number.isMultiple(of: every) {
        try Self.pack(sample, into: &packed)
      } else {
        rest.append(states[number])
      }
    }
    let mixed = BlockDraft(
      DeltaBlock(records: [.init(type: "Thing", fields: Self.fields, items: rest)]), packed: [packed])
    #expect(mixed.encoded(replicas: [Self.replica]) == whole.encoded(replicas: [Self.replica]))
  }

  /// A hidden record of a newer app has fields that the packed ones lack; more than a mask of 64 holds.
  @Test func fieldsOfOthersMoveTheMask() throws {
    let samples = try Self.samples { _ in true }
    let more = (0..<80).map { "a\(Hexadecimal.text(UInt64($0)))" }
    let odd = RecordState(
      inserted: Self.stamp(1),
      fields: more.indices.map {
        FieldCell(field: FieldID(rawValue: UInt32($0)), stamp: Self.stamp(1), value: .integer(Int64($0)))
      })
    let oddItem = DeltaBlock.Record(name: try AnyRecordName(type: "Thing", key: "odd"), state: odd)
    var packed = PackedRecords(type: "Thing", fields: Self.fields)
    for sample in samples { try Self.pack(sample, into: &packed) }
    let states = samples.map { sample in
      var state = Self.state(sample)
      state.renumberFields { FieldID(rawValue: $0.rawValue + UInt32(more.count)) }
      return DeltaBlock.Record(name: sample.name, state: state)
    }
    let whole = DeltaBlock(records: [.init(type: "Thing", fields: more + Self.fields, items: [oddItem] + states)])
    let mixed = BlockDraft(
      DeltaBlock(records: [.init(type: "Thing", fields: more, items: [oddItem])]), packed: [packed])
    #expect(mixed.encoded(replicas: [Self.replica]) == whole.encoded(replicas: [Self.replica]))
  }

  @Test func memoryIsUsedAgainForTheNextBlock() throws {
    let samples = try Self.samples { _ in true }
    var packed = PackedRecords(type: "Thing", fields: Self.fields)
    for sample in samples { try Self.pack(sample, into: &packed) }
    packed.removeAll()
    #expect(BlockDraft(DeltaBlock(), packed: [packed]).isEmpty)
    try Self.pack(samples[7], into: &packed)
    let alone = DeltaBlock(
      records: [
        .init(type: "Thing", fields: Self.fields, items: [.init(name: samples[7].name, state: Self.state(samples[7]))])
      ])
    let draft = BlockDraft(DeltaBlock(), packed: [packed])
    #expect(draft.encoded(replicas: [Self.replica]) == alone.encoded(replicas: [Self.replica]))
  }
}
