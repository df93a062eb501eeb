import TallyCRDT
import TallyTesting
import TallyWire
import Testing

@Suite struct RoundTripTests {
  static let seeds = UInt64(1)...150

  @Test func decodedBlocksEncodeToTheSameBytes() throws {
    for seed in Self.seeds {
      var samples = Samples(seed: seed)
      let bytes = try Bytes.write(samples.header, [samples.block(), samples.block(items: 30)])
      let (header, blocks) = try Bytes.read(bytes)
      #expect(header == samples.header)
      #expect(try Bytes.write(header, blocks) == bytes, "seed \(seed)")
    }
  }

  @Test func whatIsReadIsWhatWasWritten() throws {
    for seed in Self.seeds {
      var samples = Samples(seed: seed)
      let block = samples.block()
      let read = try Bytes.read(Bytes.write(samples.header, [block])).blocks
      #expect(read.count == 1)
      #expect(content(read[0]) == content(block), "seed \(seed)")
    }
  }

  @Test func bytesDoNotDependOnTheOrderOfItemsGroupsAndFieldNumbers() throws {
    for seed in Self.seeds {
      var samples = Samples(seed: seed)
      let block = samples.block()
      var other = block
      other.records.shuffle(using: &samples.random)
      other.links.shuffle(using: &samples.random)
      for index in other.records.indices { renumber(&other.records[index], &samples.random) }
      for index in other.links.indices { other.links[index].items.shuffle(using: &samples.random) }
      #expect(try Bytes.write(samples.header, [block]) == Bytes.write(samples.header, [other]), "seed \(seed)")
    }
  }

  @Test func fieldsThatNoRecordUsesLeaveNoTrace() throws {
    var samples = Samples(seed: 3)
    var block = samples.block()
    let bytes = try Bytes.write(samples.header, [block])
    for index in block.records.indices { block.records[index].fields += ["unused", "Another"] }
    #expect(try Bytes.write(samples.header, [block]) == bytes)
  }

  @Test(arguments: [1, 2, 3, 7, 64])
  func piecesOfAnySizeReadTheSame(size: Int) throws {
    for seed in UInt64(1)...20 {
      var samples = Samples(seed: seed)
      let bytes = try Bytes.write(samples.header, [samples.block(), samples.block()])
      let whole = try Bytes.read(bytes)
      let pieces = try Bytes.read(bytes, inPiecesOf: size)
      #expect(pieces.header == whole.header)
      #expect(pieces.blocks == whole.blocks)
    }
  }

  @Test func emptyBlocksAndGroupsWriteNothing() throws {
    var samples = Samples(seed: 1)
    let block = samples.block()
    var padded = block
    padded.records.append(DeltaBlock.Records(type: "Nothing", fields: ["a"], items: []))
    let empty = DeltaBlock(links: [DeltaBlock.Links(source: "A", relationship: "b", target: "C", items: [])])
    #expect(try Bytes.write(samples.header, [empty, padded]) == Bytes.write(samples.header, [block]))
  }

  @Test func headerKeepsZoneFingerprintAndBothVectors() throws {
    for seed in Self.seeds {
      let samples = Samples(seed: seed, replicas: Int(seed % 5))
      let read = try Bytes.read(Bytes.write(samples.header, []))
      #expect(read.header == samples.header)
      #expect(read.blocks.isEmpty)
    }
  }

  @Test func baseIsLoweredToWhatTheTargetCovers() {
    let known = ReplicaID(high: 1, low: 1)
    let unknown = ReplicaID(high: 2, low: 2)
    let knownAndUnknown = StateVector([(known, 9 as UInt64), (unknown, 4 as UInt64)])
    let covered = StateVector([(known, UInt64(5))])
    let header = DeltaHeader(base: knownAndUnknown, target: covered)
    #expect(header.base == covered)
  }

  @Test func writerCountsItsBytes() throws {
    var samples = Samples(seed: 8)
    var count = 0
    var writer = try DeltaWriter(header: samples.header) { count += $0.count }
    try writer.append(samples.block(items: 40))
    try writer.finish()
    #expect(writer.byteCount == count)
  }

  @Test func readerStaysAtItsEnd() throws {
    var samples = Samples(seed: 2)
    var reader = try DeltaReader(Bytes.write(samples.header, [samples.block()]))
    while try reader.nextBlock() != nil {}
    #expect(try reader.nextBlock() == nil)
  }

  // MARK: - Comparison without field numbers

  private struct Cell: Hashable {
    let name: AnyRecordName
    let field: String
    let stamp: Stamp
    let value: Value
  }

  /// The content of a block in sets: cells by the name of their field, the rest of the records, and links.
  private func content(_ block: DeltaBlock) -> [Set<AnyHashable>] {
    var cells: Set<AnyHashable> = []
    var records: Set<AnyHashable> = []
    for group in block.records {
      for item in group.items {
        for cell in item.state.fields {
          let field = group.fields[Int(cell.field.rawValue)]
          cells.insert(Cell(name: item.name, field: field, stamp: cell.stamp, value: cell.value))
        }
        for layer in item.state.seed?.layers ?? [] {
          for cell in layer.fields {
            let field = group.fields[Int(cell.field.rawValue)]
            cells.insert(Cell(name: item.name, field: field, stamp: cell.stamp, value: cell.value))
          }
        }
        for via in item.state.life?.vias ?? [] {
          cells.insert(["\(item.name)", group.fields[Int(via.field.rawValue)], "\(via.dot)"])
        }
        var rest = item
        rest.state.life?.vias = []
        rest.state.fields = []
        rest.state.seed = item.state.seed.map { seed in
          let layers = seed.layers.map { SeedLayer(stamp: $0.stamp, isRetired: $0.isRetired) }
          return SeedState(layers: layers, basis: seed.basis)
        }
        records.insert(rest)
      }
    }
    let links = block.links.flatMap { group in group.items.map { AnyHashable([group.relationship, "\($0)"]) } }
    return [cells, records, Set(links)]
  }

  private func renumber(_ group: inout DeltaBlock.Records, _ random: inout SplitMix64) {
    let old = group.fields
    group.fields.shuffle(using: &random)
    let numbers = Dictionary(uniqueKeysWithValues: group.fields.enumerated().map { ($0.element, $0.offset) })
    for item in group.items.indices {
      group.items[item].state.renumberFields { FieldID(rawValue: UInt32(numbers[old[Int($0.rawValue)]] ?? 0)) }
    }
    group.items.shuffle(using: &random)
  }
}
