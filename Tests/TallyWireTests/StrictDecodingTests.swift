import TallyCRDT
import TallyWire
import Testing

@Suite struct StrictDecodingTests {
  /// A cell or a context beyond the sender's vector would be kept by a receiver whose vector does not know of it.
  @Test func nothingInADeltaIsBeyondItsTarget() throws {
    let replica = ReplicaID(high: 1, low: 1)
    func stamp(_ sequence: UInt64) -> Stamp {
      Stamp(time: HybridTime(milliseconds: 1), dot: Dot(replica: replica, sequence: sequence))
    }
    func vector(_ sequence: UInt64) -> StateVector { StateVector([replica].map { ($0, sequence) }) }
    var deleted = RecordState()
    deleted.deletes = [Delete(stamp: stamp(5), context: vector(6))]
    var superseded = RecordState(inserted: stamp(5), fields: [])
    superseded.supersededTouches = vector(6)
    let header = DeltaHeader(base: StateVector(), target: vector(5))
    for state in [RecordState(inserted: stamp(6), fields: []), deleted, superseded] {
      let item = DeltaBlock.Record(name: try AnyRecordName("A|~|b"), state: state)
      let block = DeltaBlock(records: [DeltaBlock.Records(type: "A", fields: [], items: [item])])
      #expect(Bytes.refusal(of: try Bytes.write(header, [block]))?.code == .malformed)
    }
  }

  /// A block of sparse records of a wide type is small, most of all when compressed, and stays small.
  @Test func recordTakesMemoryForTheCellsThatItHas() throws {
    let header = Samples(seed: 9).header
    var samples = Samples(seed: 9)
    let fields = (0..<WireLimits.fields).map { "f\($0)" }
    var items: [DeltaBlock.Record] = []
    var wide = RecordState()
    wide.fields = fields.indices.map {
      FieldCell(field: FieldID(rawValue: UInt32($0)), stamp: samples.stamp(), value: .null)
    }
    items.append(DeltaBlock.Record(name: try AnyRecordName("A|~|wide"), state: wide))
    let sparse = RecordState(inserted: samples.stamp(), fields: Array(wide.fields.prefix(1)))
    items.append(DeltaBlock.Record(name: try AnyRecordName("A|~|sparse"), state: sparse))
    let block = DeltaBlock(records: [DeltaBlock.Records(type: "A", fields: fields, items: items)])
    let read = try Bytes.read(Bytes.write(header, [block])).blocks
    let record = read.flatMap(\.records).flatMap(\.items).first { $0.name.key == "sparse" }
    #expect(record?.state.fields.count == 1)
    #expect(record?.state.fields.capacity ?? .max < 16)
  }

  /// One record of the type `A` with a text key, whose values of the field `b` are these bytes.
  private func refusal(ofValues column: [UInt8], saying length: UInt64? = nil) throws -> WireError? {
    var writer = ByteWriter()
    // The one stamp of the samples' first replica; no contexts; one type.
    writer.bytes = [1, 2, 1, 2, 0, 1]
    writer.text("A")
    writer.varint(1)
    writer.text("b")
    writer.varint(length ?? UInt64(column.count))
    writer.bytes += column + [0, 1]
    writer.text("key")
    writer.bytes += [3, 0, 1, 0]
    return Bytes.refusal(of: try Bytes.seal(Samples(seed: 9).header, Bytes.block(writer.bytes)))
  }

  @Test func fieldHasAsManyValuesAsCells() throws {
    #expect(try refusal(ofValues: [1, 2]) == nil)
    #expect(try refusal(ofValues: [])?.code == .truncated)
    #expect(try refusal(ofValues: [1])?.code == .truncated)
    #expect(try refusal(ofValues: [1, 2, 0])?.code == .malformed)
    #expect(try refusal(ofValues: [1, 2], saying: 1000)?.code == .truncated)
    #expect(try refusal(ofValues: [1, 2], saying: UInt64(WireLimits.blockBytes) + 1)?.code == .limitExceeded)
  }

  @Test func namesWithAUUIDHaveOneForm() throws {
    let uuid = "386c1919-5f25-4be2-975f-5b34506c51db"
    func text(_ text: String) -> [UInt8] { [3, UInt8(text.utf8.count)] + Array(text.utf8) }
    var writer = ByteWriter()
    writer.key(.uuid(high: 0x386C_1919_5F25_4BE2, low: 0x975F_5B34_506C_51DB))
    let bytes = writer.bytes
    #expect(try refusal(ofValues: [5, 1, 0x41] + bytes) == nil)
    #expect(try refusal(ofValues: text("A|~|\(uuid)"))?.code == .malformed)
    // Texts that look alike and are no such names.
    for other in ["A|~|\(uuid.uppercased())", "|~|\(uuid)", "1A|~|\(uuid)", "A~~|\(uuid)", "A|~|key", uuid] {
      #expect(try refusal(ofValues: text(other)) == nil, "\(other)")
    }
    #expect(try refusal(ofValues: [5, 0] + bytes)?.code == .malformed)
    #expect(try refusal(ofValues: [5, 1, 0x31] + bytes)?.code == .malformed)
    #expect(try refusal(ofValues: [5, 65] + [UInt8](repeating: 0x41, count: 65) + bytes)?.code == .limitExceeded)
    #expect(try refusal(ofValues: [5, 1, 0x41] + bytes.dropLast())?.code == .truncated)
  }

  @Test func blockWithNothingInItIsRefused() throws {
    let bytes = try Bytes.seal(Samples(seed: 9).header, Bytes.block([0, 0, 0, 0]))
    #expect(Bytes.refusal(of: bytes)?.code == .malformed)
  }
}
