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

  @Test func blockWithNothingInItIsRefused() throws {
    let bytes = try Bytes.seal(Samples(seed: 9).header, Bytes.block([0, 0, 0, 0]))
    #expect(Bytes.refusal(of: bytes)?.code == .malformed)
  }
}
