import TallyCRDT
import TallyWire
import Testing

/// Fields that keep the greatest or the least value in version 3 of the format, and what is refused of them.
@Suite struct ExtremumWireTests {
  private static let ann = ReplicaID(high: 0xA0A1_A2A3_A4A5_A6A7, low: 0xA8A9_AAAB_ACAD_AEAF)
  private static let limits = [Dot(replica: ann, sequence: 9)]
  private static let stamp = Stamp(time: .earliest, dot: Dot(replica: ann, sequence: 2))

  private static func state(_ value: Value) -> RecordState {
    RecordState(fields: [FieldCell(field: FieldID(rawValue: 0), stamp: stamp, value: value)])
  }

  private static func bytes(_ key: String, _ state: RecordState) throws -> [UInt8] {
    let name = try AnyRecordName("Tile|~|386c1919-5f25-4be2-975f-5b34506c51db")
    return DeltaBlock(records: [.init(type: "Tile", fields: [key], items: [.init(name: name, state: state)])])
      .encoded(replicas: [ann])
  }

  @Test func keysSayWhatAFieldKeeps() {
    for (key, kind) in [("n>", FieldKey.Kind.extremum(.greatest)), ("n<", .extremum(.least))] {
      #expect(FieldKey.kind(of: key) == kind && FieldKey.key(of: "n", kind) == key)
      #expect(FieldKey.name(in: key) == "n" && !FieldKey.isPresence(key))
    }
  }

  /// The key, and otherwise no byte that a register does not have.
  @Test func aRaiseTakesTheBytesOfThePage() throws {
    let expected: [UInt8] =
      [1, 2, 2, 0, 0] + [1, 4] + Array("Tile".utf8) + [1, 2] + Array("n>".utf8) + [2] + [1, 10]
      + [1, 0x38, 0x6C, 0x19, 0x19, 0x5F, 0x25, 0x4B, 0xE2, 0x97, 0x5F, 0x5B, 0x34, 0x50, 0x6C, 0x51, 0xDB, 0]
      + [2, 0, 1] + [0]
    let bytes = try Self.bytes("n>", Self.state(.integer(5)))
    #expect(bytes == expected, "\(bytes)")
    #expect(try DeltaBlock(live: bytes, limits: Self.limits, version: 3).records.first?.fields == ["n>"])
  }

  @Test func numbersAndNullAreTakenAndNothingElse() throws {
    for key in ["n>", "n<"] {
      for value in [.null, .integer(-5), .real(2.5)] as [Value] {
        let bytes = try Self.bytes(key, Self.state(value))
        let block = try DeltaBlock(live: bytes, limits: Self.limits, version: 3)
        #expect(block.records.first?.items.first?.state == Self.state(value))
        #expect(throws: WireError.self) { try DeltaBlock(live: bytes, limits: Self.limits, version: 2) }
      }
      let name = Value.text("Tile|~|386c1919-5f25-4be2-975f-5b34506c51db")
      for value in [.text("5"), .blob([5]), name] as [Value] {
        for state in [Self.state(value), RecordState(inserted: Self.stamp, fields: Self.state(value).fields)] {
          let bytes = try Self.bytes(key, state)
          for packs in [true, false] {
            let error = #expect(throws: WireError.self) {
              try BlockDraft(canonical: bytes, limits: Self.limits, packs: packs, version: 3)
            }
            #expect(error?.code == .malformed)
          }
        }
      }
    }
  }

  @Test func aDeltaOfVersion2HasNone() throws {
    let target = StateVector([(Self.ann, UInt64(9))])
    var writer = try DeltaWriter(header: DeltaHeader(base: StateVector(), target: target, version: 2)) { _ in }
    let name = try AnyRecordName("Tile|~|a")
    let block = DeltaBlock(records: [
      .init(type: "Tile", fields: ["n<"], items: [.init(name: name, state: Self.state(.integer(1)))])
    ])
    let error = #expect(throws: WireError.self) { try writer.append(block) }
    #expect(error?.code == .unsupportedVersion)
  }
}
