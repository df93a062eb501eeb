import TallyCRDT
import TallyWire
import Testing

@Suite struct GoldenTests {
  private func expect(_ bytes: [UInt8], are name: String) throws {
    let golden = try Golden.bytes(name)
    #expect(bytes == golden, "\(name).hex is now:\n\(Golden.text(bytes))")
  }

  private func names(_ blocks: [DeltaBlock]) -> [AnyRecordName] {
    blocks.flatMap { $0.records.flatMap(\.items) }.map(\.name)
  }

  @Test func headerBytesAreThoseOfVersion2() throws {
    try expect(Bytes.header(Golden.plainHeader), are: "header")
    try expect(Bytes.header(Golden.fullHeader), are: "header-zone-fingerprint")
  }

  @Test func deltaBytesAreThoseOfVersion2() throws {
    try expect(Bytes.write(Golden.plainHeader, Golden.blocks()), are: "delta")
  }

  @Test func emptyDeltaBytesAreThoseOfVersion2() throws {
    try expect(Bytes.write(DeltaHeader(base: StateVector(), target: StateVector()), []), are: "empty")
  }

  @Test func goldenDeltaReadsAsItsItems() throws {
    let (header, blocks) = try Bytes.read(Golden.bytes("delta"))
    #expect(header == Golden.plainHeader)
    #expect(try Bytes.write(header, blocks) == Bytes.write(Golden.plainHeader, Golden.blocks()))
    let original = try Golden.blocks()
    #expect(blocks.count == original.count)
    #expect(names(blocks) == names(original))
    #expect(blocks.suffix(2) == original.suffix(2))
    #expect(blocks[2].records.first?.items == original[2].records.first?.items)
  }

  /// Only read: other versions of zstd may compress to other bytes.
  @Test func goldenCompressedDeltaReadsAsItsItems() throws {
    let (header, blocks) = try Bytes.read(Golden.bytes("compressed"))
    #expect(header == Golden.fullHeader)
    let now = try Bytes.write(Golden.fullHeader, [Golden.largeBlock()])
    #expect(blocks == [try Golden.largeBlock()], "written now it is:\n\(Golden.text(now))")
    #expect(try Bytes.payload(of: Golden.fullHeader, Golden.largeBlock()).isCompressed)
  }

  @Test func noBlockOfTheGoldenDeltaIsCompressed() throws {
    for block in try Golden.blocks() {
      #expect(try !Bytes.payload(of: Golden.plainHeader, block).isCompressed)
    }
  }
}
