import TallyCRDT
import TallyWire

/// What the product writes, small, to begin from.
enum FuzzSamples {
  static let first = ReplicaID(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C_0D0E_0F10)
  static let second = ReplicaID(high: 0xF1F2_F3F4_F5F6_F7F8, low: 0xF9FA_FBFC_FDFE_FF00)
  /// What the numbers in a block mean.
  static let limits = [Dot(replica: first, sequence: 300), Dot(replica: second, sequence: 9)]
  static let header = DeltaHeader(
    base: StateVector(), target: StateVector(limits.map { ($0.replica, $0.sequence) }),
    fingerprint: Fingerprint(first: 1, second: 2))

  static func vector(_ entries: [(ReplicaID, UInt64)]) -> StateVector { StateVector(entries) }

  static func stamp(_ replica: ReplicaID, _ sequence: UInt64, _ time: UInt64, rank: Rank = .user) -> Stamp {
    Stamp(rank: rank, time: HybridTime(milliseconds: time), dot: Dot(replica: replica, sequence: sequence))
  }

  private static func cell(_ field: UInt32, _ stamp: Stamp, _ value: Value) -> FieldCell {
    FieldCell(field: FieldID(rawValue: field), stamp: stamp, value: value)
  }

  // MARK: States

  static let insert = stamp(first, 3, 1_700_000_000_000)
  static let edit = stamp(second, 1, 1_700_000_000_005)

  static var inserted: RecordState {
    RecordState(inserted: insert, fields: [cell(0, insert, .integer(-3)), cell(1, insert, .text("Go"))])
  }

  static var deleted: RecordState {
    var state = inserted
    state.fields[0] = cell(0, edit, Value(real: 1.5))
    state.supersededTouches = vector([(second, 2)])
    state.deletes = [Delete(stamp: stamp(first, 4, 7), context: vector([(first, 4)]))]
    return state
  }

  /// In its second life, with a reference.
  static var lived: RecordState {
    let shred = stamp(second, 3, 1_700_000_000_009)
    var state = RecordState(
      inserted: insert,
      fields: [
        cell(0, edit, .integer(1)), cell(1, insert, .text("Go")), cell(2, insert, Value(text: "SBGame|~|chess")),
      ])
    var life = Life(time: shred.time, dot: shred.dot, context: vector([(first, 4), (second, 3)]))
    life.said = Dot(replica: second, sequence: 4)
    life[via: FieldID(rawValue: 0)] = Dot(replica: second, sequence: 4)
    life[via: FieldID(rawValue: 1)] = shred.dot
    state.life = life
    return state
  }

  static var seeded: RecordState {
    let (old, new) = (stamp(first, 5, 1, rank: .seed), stamp(first, 6, 2, rank: .seed))
    var state = RecordState(inserted: edit, fields: [cell(0, edit, .blob([0, 255])), cell(1, edit, .null)])
    state.seed = SeedState(
      layers: [SeedLayer(stamp: old, fields: [cell(1, old, .integer(5))]), SeedLayer(stamp: new, isRetired: true)],
      basis: SeedBasis(stamp: edit, layer: old))
    return state
  }

  static var element: ORSetElement {
    var element = ORSetElement(added: insert)
    element.remove(edit)
    element.add(stamp(second, 2, 9))
    return element
  }

  // MARK: Blocks

  static func blocks() throws -> [DeltaBlock] {
    let go = try AnyRecordName("SBGame|~|386c1919-5f25-4be2-975f-5b34506c51db")
    let chess = try AnyRecordName("SBGame|~|chess")
    let records =
      [(go, inserted), (chess, deleted), (try AnyRecordName("SBGame|~|seed"), seeded)]
      + [(try AnyRecordName("SBGame|~|hex"), lived)]
    return [
      DeltaBlock(records: [
        .init(
          type: "SBGame", fields: ["count", "title", "owner&"],
          items: records.map { DeltaBlock.Record(name: $0.0, state: $0.1) })
      ]),
      DeltaBlock(links: [
        .init(
          source: "SBGame", relationship: "then", target: "SBGame",
          items: [DeltaBlock.Link(source: go, target: chess, element: element)])
      ]),
    ]
  }

  static func blockBytes() throws -> [[UInt8]] {
    try blocks().map { $0.encoded(replicas: limits.map(\.replica)) }
  }

  // MARK: Deltas

  static func delta(_ blocks: [DeltaBlock]? = nil) throws -> [UInt8] { try write(header, blocks ?? self.blocks()) }

  /// The same delta without a sum: what is made up does not add up.
  static func unvouched(_ delta: [UInt8]) throws -> [UInt8] {
    var (header, blocks) = try read(delta)
    header.fingerprint = nil
    return try write(header, blocks)
  }

  static func deltas() throws -> [[UInt8]] { [try delta(), try delta([])] }

  /// Without the end mark and the checksum, which `seal` adds.
  static func openDeltas() throws -> [[UInt8]] { try deltas().map { Array($0.dropLast(9)) } }

  static func write(_ header: DeltaHeader, _ blocks: [DeltaBlock]) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var writer = try DeltaWriter(header: header) { bytes += $0 }
    for block in blocks { try writer.append(block) }
    try writer.finish()
    return bytes
  }

  static func read(_ bytes: [UInt8], inPiecesOf size: Int = .max) throws -> (header: DeltaHeader, blocks: [DeltaBlock])
  {
    var rest = bytes[...]
    var reader = try DeltaReader {
      guard !rest.isEmpty else { return nil }
      defer { rest = rest.dropFirst(size) }
      return Array(rest.prefix(size))
    }
    var blocks: [DeltaBlock] = []
    while let block = try reader.nextBlock() { blocks.append(block) }
    return (reader.header, blocks)
  }

  /// The bytes with the end mark and the checksum of a delta.
  static func seal(_ bytes: [UInt8]) -> [UInt8] {
    let marked = bytes + [0]
    var checksum = SipHash()
    marked.withUnsafeBytes { checksum.combine(bytes: $0) }
    var trailer = ByteWriter()
    trailer.fixed(checksum.finalized())
    return marked + trailer.bytes
  }
}
