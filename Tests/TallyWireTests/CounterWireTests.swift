import TallyCRDT
import TallyWire
import Testing

/// Counters in version 3 of the format, and what is refused of them.
@Suite struct CounterWireTests {
  private static let ann = ReplicaID(high: 0xA0A1_A2A3_A4A5_A6A7, low: 0xA8A9_AAAB_ACAD_AEAF)
  private static let ben = ReplicaID(high: 0xB0B1_B2B3_B4B5_B6B7, low: 0xB8B9_BABB_BCBD_BEBF)
  private static let limits = [Dot(replica: ann, sequence: 9), Dot(replica: ben, sequence: 9)]

  private static func stamp(_ replica: ReplicaID, rank: Rank = .user) -> Stamp {
    Stamp(rank: rank, time: HybridTime(milliseconds: 7), dot: Dot(replica: replica, sequence: 2))
  }

  private static func cell(_ field: UInt32, _ stamp: Stamp, _ value: Value) -> FieldCell {
    FieldCell(field: FieldID(rawValue: field), stamp: stamp, value: value)
  }

  private static func block(_ keys: [String], _ state: RecordState) throws -> DeltaBlock {
    let name = try AnyRecordName("Tile|~|386c1919-5f25-4be2-975f-5b34506c51db")
    return DeltaBlock(records: [.init(type: "Tile", fields: keys, items: [.init(name: name, state: state)])])
  }

  private static func encoded(_ block: DeltaBlock) -> [UInt8] { block.encoded(replicas: [ann, ben]) }

  private static func decoded(_ bytes: [UInt8], version: UInt8 = 3) throws -> DeltaBlock {
    try DeltaBlock(live: bytes, limits: limits, version: version)
  }

  private static let key = FieldKey.key(of: "n", .total(ben))

  @Test func keysSayWhatAFieldIs() {
    #expect(Self.key == "n+b0b1b2b3b4b5b6b7b8b9babbbcbdbebf")
    let kinds: [(String, FieldKey.Kind)] = [
      ("n", .field), ("n&", .reference), ("n+", .counter), (Self.key, .total(Self.ben)),
      // A name of thirty-two digits is a name, and large digits are none.
      ("nb0b1b2b3b4b5b6b7b8b9babbbcbdbebf", .field), ("n+B0B1B2B3B4B5B6B7B8B9BABBBCBDBEBF", .field),
    ]
    for (key, kind) in kinds {
      #expect(FieldKey.kind(of: key) == kind, "\(key)")
      #expect(kind == .field || FieldKey.name(in: key) == "n")
      #expect(FieldKey.isPresence(key) == (kind == .reference || kind == .total(Self.ben)))
    }
  }

  /// The offset's key and 0, a total's with 1 and the replica's number; and no more of the version than that.
  @Test func anAdditionTakesTheBytesOfThePage() throws {
    let bytes = Self.encoded(
      try Self.block([Self.key], RecordState(fields: [Self.cell(0, Self.stamp(Self.ben), .integer(5))])))
    let expected: [UInt8] =
      [1, 6, 2, 14, 0] + [1, 4] + Array("Tile".utf8) + [1, 2] + Array("n+".utf8) + [2, 2] + [1, 10]
      + [1, 0x38, 0x6C, 0x19, 0x19, 0x5F, 0x25, 0x4B, 0xE2, 0x97, 0x5F, 0x5B, 0x34, 0x50, 0x6C, 0x51, 0xDB, 0]
      + [2, 0, 1] + [0]
    #expect(bytes == expected)
    #expect(try Self.decoded(bytes).records.first?.fields == [Self.key])
    let offset = Self.encoded(
      try Self.block(["n+"], RecordState(fields: [Self.cell(0, Self.stamp(Self.ann), .null)])))
    #expect(try Self.decoded(offset).records.first?.fields == ["n+"])
  }

  private func refused(
    _ keys: [String], _ state: RecordState, version: UInt8 = 3, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let bytes = Self.encoded(try Self.block(keys, state))
    let error = #expect(throws: WireError.self, sourceLocation: sourceLocation) {
      try Self.decoded(bytes, version: version)
    }
    #expect(error?.code == .malformed, sourceLocation: sourceLocation)
    for packs in [true, false] {
      #expect(throws: WireError.self, sourceLocation: sourceLocation) {
        try BlockDraft(canonical: bytes, limits: Self.limits, packs: packs, version: version)
      }
    }
  }

  @Test func whatNoCounterCanHaveIsRefused() throws {
    let (ann, ben) = (Self.stamp(Self.ann), Self.stamp(Self.ben))
    func fields(_ cells: FieldCell...) -> RecordState { RecordState(fields: cells) }
    // Under a key that says another replica; with anything but an integer.
    try refused([Self.key], fields(Self.cell(0, ann, .integer(5))))
    try refused([Self.key], fields(Self.cell(0, ben, .null)))
    try refused([Self.key], fields(Self.cell(0, ben, .text("5"))))
    try refused(["n+"], fields(Self.cell(0, ann, .real(5))))
    try refused(["n+"], RecordState(inserted: ann, fields: [Self.cell(0, ann, .text("many"))]))
    // What version 2 does not have.
    try refused(["n+"], fields(Self.cell(0, ann, .integer(5))), version: 2)
    try refused([Self.key], fields(Self.cell(0, ben, .integer(5))), version: 2)
    // A seed adds nothing.
    var seeded = RecordState()
    let seed = Self.stamp(Self.ben, rank: .seed)
    seeded.seed = SeedState(layers: [
      SeedLayer(stamp: seed, isRetired: false, fields: [Self.cell(0, seed, .integer(5))])
    ])
    try refused([Self.key], seeded)
  }

  @Test func numbersBeyondTheReplicasAndKeysThatAreSpeltOutAreRefused() throws {
    var bytes = Self.encoded(
      try Self.block([Self.key], RecordState(fields: [Self.cell(0, Self.stamp(Self.ben), .integer(5))])))
    let place = try #require(bytes.firstIndex(of: UInt8(ascii: "+"))) + 1
    #expect(bytes[place] == 2)
    for number in [0, 1, 3, 0x7F] as [UInt8] {
      bytes[place] = number
      // 0 is the offset, and no other total than Ben's has a stamp of his.
      if number == 0 { continue }
      #expect(throws: WireError.self) { try Self.decoded(bytes) }
    }
  }

  /// A writer that is told of a lower version writes nothing that this lacks.
  @Test func aDeltaOfVersion2HasNoCounters() throws {
    let block = try Self.block(["n+"], RecordState(fields: [Self.cell(0, Self.stamp(Self.ann), .integer(5))]))
    let target = StateVector([(Self.ann, UInt64(9)), (Self.ben, UInt64(9))])
    for version in DeltaHeader.versions {
      var bytes: [UInt8] = []
      var writer = try DeltaWriter(header: DeltaHeader(base: StateVector(), target: target, version: version)) {
        bytes += $0
      }
      if version == 2 {
        let error = #expect(throws: WireError.self) { try writer.append(block) }
        #expect(error?.code == .unsupportedVersion)
      } else {
        try writer.append(block)
        try writer.finish()
        var reader = try DeltaReader(bytes)
        #expect(reader.header.version == 3)
        #expect(try reader.nextBlock() == block)
      }
    }
  }
}
