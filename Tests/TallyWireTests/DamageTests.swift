import TallyCRDT
import TallyTesting
import TallyWire
import Testing

/// Bytes from peers and disks: whatever is wrong with them is an error, never a trap and never a delta.
@Suite struct DamageTests {
  /// Several kinds of items, one block compressed and one not.
  static func sample() throws -> [UInt8] {
    var samples = Samples(seed: 5, replicas: 2)
    return try Bytes.write(samples.header, [samples.block(items: 4), samples.block(items: 2)])
  }

  @Test func everyTruncationIsRefused() throws {
    let bytes = try Self.sample()
    for length in bytes.indices {
      let code = Bytes.refusal(of: Array(bytes[..<length]))?.code
      #expect(code == .truncated, "the first \(length) bytes")
      #expect(Bytes.refusal(of: Array(bytes[..<length]), inPiecesOf: 5)?.code == .truncated)
    }
  }

  @Test func everyFlippedBitIsRefused() throws {
    let bytes = try Self.sample()
    for index in bytes.indices {
      for bit in 0..<8 {
        var damaged = bytes
        damaged[index] ^= 1 << UInt8(bit)
        #expect(Bytes.refusal(of: damaged) != nil, "bit \(bit) of byte \(index)")
      }
    }
  }

  @Test func everyDroppedOrRepeatedByteIsRefused() throws {
    let bytes = try Self.sample()
    for index in bytes.indices {
      var shorter = bytes
      shorter.remove(at: index)
      #expect(Bytes.refusal(of: shorter) != nil, "without byte \(index)")
      var longer = bytes
      longer.insert(bytes[index], at: index)
      #expect(Bytes.refusal(of: longer) != nil, "with byte \(index) twice")
    }
  }

  @Test func randomBytesAreRefused() throws {
    var random = SplitMix64(seed: 1)
    for _ in 0..<3_000 {
      let noise = (0..<random.below(120)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      #expect(Bytes.refusal(of: noise) != nil)
      #expect(Bytes.refusal(of: [0x54, 0x4C, 1, 0] + noise) != nil)
    }
  }

  @Test func randomBlocksUnderAValidChecksumNeverTrap() throws {
    var random = SplitMix64(seed: 2)
    let header = Samples(seed: 2).header
    for _ in 0..<3_000 {
      // Small numbers reach further into the format than even noise does.
      let noise = (0..<1 + random.below(80)).map { _ in UInt8(random.below(random.chance(80) ? 6 : 256)) }
      _ = Bytes.refusal(of: try Bytes.seal(header, Bytes.block(noise)))
      _ = Bytes.refusal(of: try Bytes.seal(header, Bytes.block(compressed: noise, size: 100)))
      _ = Bytes.refusal(of: try Bytes.seal(header, noise))
    }
  }

  @Test func damagedBlocksUnderAValidChecksumNeverTrap() throws {
    var accepted = 0
    for seed in UInt64(1)...60 {
      var samples = Samples(seed: seed)
      for payload in try samples.plainPayloads() {
        for _ in 0..<40 {
          let damaged = samples.damage(payload)
          let refusal = Bytes.refusal(of: try Bytes.seal(samples.header, Bytes.block(damaged)))
          accepted += refusal == nil ? 1 : 0
        }
      }
    }
    // Some damage makes another valid block; if none did, the decoder was not reached.
    #expect(accepted > 100)
  }

  @Test func bytesAfterTheEndAreRefused() throws {
    let bytes = try Self.sample() + [0]
    #expect(Bytes.refusal(of: bytes)?.code == .malformed)
    #expect(Bytes.refusal(of: bytes, inPiecesOf: bytes.count - 1)?.code == .malformed)
  }

  @Test func blockWithBytesAfterItsEndIsRefused() throws {
    var samples = Samples(seed: 4)
    let block = DeltaBlock(records: [
      DeltaBlock.Records(
        type: "A", fields: [],
        items: [
          DeltaBlock.Record(
            name: try AnyRecordName("A|~|b"), state: RecordState(inserted: samples.stamp(), fields: []))
        ])
    ])
    let payload = try Bytes.payload(of: samples.header, block).stored
    #expect(Bytes.refusal(of: try Bytes.seal(samples.header, Bytes.block(payload))) == nil)
    #expect(Bytes.refusal(of: try Bytes.seal(samples.header, Bytes.block(payload + [0])))?.code == .malformed)
  }

  @Test func otherFilesAreNotDeltas() {
    #expect(Bytes.refusal(of: Array("SQLite format 3".utf8))?.code == .malformed)
    #expect(Bytes.refusal(of: [])?.code == .truncated)
  }

  @Test func newerVersionsAndUnknownFlagsAreToldApartFromDamage() throws {
    let bytes = try Self.sample()
    for version in [0, 1, 4, 255] as [UInt8] {
      var newer = bytes
      newer[2] = version
      #expect(Bytes.refusal(of: newer)?.code == .unsupportedVersion)
    }
    for flag in 2..<8 {
      var flagged = bytes
      flagged[3] |= 1 << UInt8(flag)
      #expect(Bytes.refusal(of: flagged)?.code == .unsupportedVersion)
    }
  }

  @Test func checksumIsOverEveryByteBeforeIt() throws {
    var bytes = try Self.sample()
    bytes[bytes.count - 1] ^= 1
    #expect(Bytes.refusal(of: bytes)?.code == .checksumMismatch)
  }

  private struct DiskFull: Error {}

  @Test func errorsOfSourceAndSinkPassThrough() throws {
    let samples = Samples(seed: 1)
    #expect(throws: DiskFull.self) { try DeltaWriter(header: samples.header) { _ in throw DiskFull() } }
    #expect(throws: DiskFull.self) { try DeltaReader { throw DiskFull() } }
  }

  @Test func errorsDoNotQuoteTheData() throws {
    var samples = Samples(seed: 6)
    let stamp = samples.stamp()
    let cell = FieldCell(field: FieldID(rawValue: 0), stamp: stamp, value: .text("secret"))
    let group = DeltaBlock.Records(
      type: "A", fields: ["b"],
      items: [
        DeltaBlock.Record(name: try AnyRecordName("A|~|secret"), state: RecordState(inserted: stamp, fields: [cell]))
      ])
    let bytes = try Bytes.write(samples.header, [DeltaBlock(records: [group])])
    for index in bytes.indices {
      var damaged = bytes
      damaged[index] ^= 0x80
      #expect(Bytes.refusal(of: damaged)?.description.contains("secret") == false)
    }
  }
}
