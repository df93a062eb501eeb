import TallyCRDT
import TallyWire
import Testing

/// Quantities are checked before anything is allocated for them.
@Suite struct LimitTests {
  let header = Samples(seed: 9).header
  static let huge = UInt64(Int64.max)

  private func code(_ rest: [UInt8]) throws -> WireError.Code? {
    Bytes.refusal(of: try Bytes.seal(header, rest))?.code
  }

  /// A block that starts with `numbers`.
  private func payload(_ numbers: [UInt64]) -> [UInt8] {
    var writer = ByteWriter()
    for number in numbers { writer.varint(number) }
    return Bytes.block(writer.bytes)
  }

  @Test func blockThatClaimsMoreThanTheLimitIsRefused() throws {
    let limit = UInt64(WireLimits.blockBytes)
    for size in [limit + 1, Self.huge / 2] {
      #expect(try code(Bytes.block(compressed: [1, 2, 3], size: size)) == .limitExceeded)
      var writer = ByteWriter()
      writer.varint(size << 1)
      #expect(try code(writer.bytes) == .limitExceeded)
      writer.bytes = []
      writer.varint(UInt64(100) << 1 | 1)
      writer.varint(size)
      #expect(try code(writer.bytes) == .limitExceeded)
    }
  }

  @Test func blockThatClaimsMoreThanThereIsIsTruncated() throws {
    var writer = ByteWriter()
    writer.varint(WireLimits.blockBytes << 1)
    #expect(try code(writer.bytes) == .truncated)
  }

  /// The compressed form of a block that is nearly all zeros, and its size when it is not compressed.
  private func zeros(_ count: Int) throws -> (compressed: [UInt8], size: UInt64) {
    var samples = Samples(seed: 9)
    let cell = FieldCell(
      field: FieldID(rawValue: 0), stamp: samples.stamp(), value: .blob([UInt8](repeating: 0, count: count)))
    var state = RecordState()
    state.fields = [cell]
    let group = DeltaBlock.Records(
      type: "A", fields: ["b"], items: [DeltaBlock.Record(name: try AnyRecordName("A|~|b"), state: state)])
    let block = DeltaBlock(records: [group])
    let (stored, isCompressed) = try Bytes.payload(of: header, block)
    #expect(isCompressed && stored.count < count / 100)
    let start = try Bytes.write(header, [block]).dropFirst(Bytes.header(header).count)
    let size = try Array(start).withUnsafeBytes { raw in
      var reader = ByteReader(raw)
      return try reader.varint() >> 1
    }
    return (stored, size)
  }

  @Test func frameThatInflatesBeyondItsDeclaredSizeIsRefused() throws {
    let (bomb, size) = try zeros(8 << 20)
    #expect(try code(Bytes.block(compressed: bomb, size: size)) == nil)
    for claim in [1, 100, size / 2, size - 1] {
      #expect(try code(Bytes.block(compressed: bomb, size: claim)) == .limitExceeded)
    }
  }

  @Test func frameThatInflatesToLessThanItsDeclaredSizeIsRefused() throws {
    let (frame, size) = try zeros(100_000)
    for claim in [size + 1, size * 2, UInt64(WireLimits.blockBytes)] {
      #expect(try code(Bytes.block(compressed: frame, size: claim)) == .compression)
    }
  }

  /// Each block keeps its limit; it is their number that fills the disk of whoever applies them.
  @Test func manySmallBlocksThatInflateToMoreThanTheLimitAreRefused() throws {
    let (bomb, size) = try zeros(1 << 20)
    let delta = try Bytes.seal(header, (0..<64).flatMap { _ in Bytes.block(compressed: bomb, size: size) })
    #expect(delta.count < 64 * 1024)
    func blocks(_ byteLimit: UInt64) throws -> Int {
      var reader = try DeltaReader(delta, byteLimit: byteLimit)
      var count = 0
      do {
        while try reader.nextBlock() != nil { count += 1 }
      } catch {
        // What the one that was refused claims is neither counted nor made.
        #expect(reader.blockByteCount == UInt64(count) * size)
        throw error
      }
      return count
    }
    for limit in [0, size - 1, size, 10 * size, 64 * size - 1] {
      #expect { try blocks(limit) } throws: { ($0 as? WireError)?.code == .limitExceeded }
    }
    #expect(try blocks(64 * size) == 64)
    #expect(try blocks(WireLimits.deltaBytes) == 64)
    #expect(try blocks(.max) == 64)
  }

  /// A few bytes for a record or a null become a hundred in memory.
  @Test(arguments: [true, false]) func aBlockHasSoManyItemsAndCells(_ packs: Bool) throws {
    func refusal(records: Int, fields: Int, links: Int = 0) throws -> WireError.Code? {
      let replica = ReplicaID(high: 1, low: 1)
      let stamp = Stamp(time: HybridTime(milliseconds: 1), dot: Dot(replica: replica, sequence: 1))
      let cells = (0..<fields).map { FieldCell(field: FieldID(rawValue: UInt32($0)), stamp: stamp, value: .null) }
      let names = (0..<fields).map { "f\(1000 + $0)" }
      let items = try (0..<records).map { number in
        let key = "386c1919-5f25-4be2-975f-5b34506\(10_000 + number)"
        return DeltaBlock.Record(
          name: try AnyRecordName(type: "T", key: key), state: RecordState(inserted: stamp, fields: cells))
      }
      let links = try (0..<links).map { number in
        DeltaBlock.Link(
          source: try AnyRecordName(type: "T", key: "s\(number)"), target: try AnyRecordName(type: "T", key: "t"),
          element: ORSetElement(added: stamp))
      }
      let block = DeltaBlock(
        records: [.init(type: "T", fields: names, items: items)],
        links: [.init(source: "T", relationship: "r", target: "T", items: links)])
      do throws(WireError) {
        _ = try BlockDraft(
          canonical: block.encoded(replicas: [replica]), limits: [Dot(replica: replica, sequence: 1)], packs: packs)
        return nil
      } catch {
        return error.code
      }
    }
    #expect(try refusal(records: WireLimits.blockItems, fields: 1) == nil)
    #expect(try refusal(records: WireLimits.blockItems - 2, fields: 1, links: 2) == nil)
    #expect(try refusal(records: WireLimits.blockItems + 1, fields: 1) == .limitExceeded)
    #expect(try refusal(records: WireLimits.blockItems - 2, fields: 1, links: 3) == .limitExceeded)
    #expect(try refusal(records: WireLimits.blockCells / 1024 + 1, fields: 1024) == .limitExceeded)
  }

  /// Whatever a block can have many of takes from one limit, or has its own.
  @Test func nothingOfABlockIsWithoutALimit() throws {
    func refusal(_ block: DeltaBlock) throws -> WireError.Code? {
      let replicas = (1...UInt64(600)).map { ReplicaID(high: 1, low: $0) }
      do throws(WireError) {
        _ = try BlockDraft(
          canonical: block.encoded(replicas: replicas), limits: replicas.map { Dot(replica: $0, sequence: 1 << 40) },
          packs: true)
        return nil
      } catch {
        return error.code
      }
    }
    func stamp(_ sequence: Int, _ replica: UInt64 = 1) -> Stamp {
      Stamp(
        time: HybridTime(milliseconds: UInt64(sequence)),
        dot: Dot(replica: ReplicaID(high: 1, low: replica), sequence: UInt64(sequence)))
    }
    func records(_ count: Int, _ state: (Int) -> RecordState) throws -> DeltaBlock {
      let items = try (0..<count).map {
        DeltaBlock.Record(name: try AnyRecordName(type: "T", key: "\(100_000 + $0)"), state: state($0))
      }
      return DeltaBlock(records: [.init(type: "T", fields: [], items: items)])
    }
    func deletes(_ replicas: Int) -> (Int) -> RecordState {
      let context = StateVector((1...UInt64(replicas)).map { (ReplicaID(high: 1, low: $0), 1 << 30) })
      return { number in
        var state = RecordState()
        state.deletes = [Delete(stamp: stamp(1 + number), context: context)]
        return state
      }
    }
    func links(_ tags: Int) throws -> DeltaBlock {
      var element = ORSetElement()
      element.tags = (1...tags).map { ORSetElement.Tag(added: stamp($0), removed: nil) }
      let name = try AnyRecordName("T|~|1")
      let link = DeltaBlock.Link(source: name, target: name, element: element)
      return DeltaBlock(links: [.init(source: "T", relationship: "r", target: "T", items: [link])])
    }
    func names(_ types: Int) throws -> DeltaBlock {
      DeltaBlock(
        records: try (0..<types).map { number in
          let type = "T\(100 + number)"
          let cells = (0..<1024).map { FieldCell(field: FieldID(rawValue: $0), stamp: stamp(1), value: .null) }
          let name = try AnyRecordName(type: type, key: "1")
          return .init(
            type: type, fields: cells.indices.map { "f\(1000 + $0)" },
            items: [.init(name: name, state: RecordState(inserted: stamp(1), fields: cells))])
        })
    }
    let cells = WireLimits.blockCells
    // Contexts: one for each stamp, and once more with each delete.
    #expect(try refusal(records(cells / 1024 - 5, deletes(512))) == nil)
    #expect(try refusal(records(cells / 1024, deletes(512))) == .limitExceeded)
    #expect(try refusal(links(cells / 2)) == nil)
    #expect(try refusal(links(cells / 2 + 1)) == .limitExceeded)
    #expect(try refusal(names(WireLimits.blockFieldNames / 1024)) == nil)
    #expect(try refusal(names(WireLimits.blockFieldNames / 1024 + 1)) == .limitExceeded)
    // Stamps that nothing uses are refused before they are read.
    var writer = ByteWriter()
    writer.varint(cells + 1)
    let stamps = writer.bytes + [UInt8](repeating: 1, count: 3 * (cells + 1))
    #expect(try code(Bytes.block(stamps)) == .limitExceeded)
  }

  @Test func damagedFramesAreRefused() throws {
    let (frame, size) = try zeros(100_000)
    #expect(try code(Bytes.block(compressed: frame + [0], size: size)) == .compression)
    #expect(try code(Bytes.block(compressed: frame + frame, size: size * 2)) == .compression)
    #expect(try code(Bytes.block(compressed: Array(frame.dropLast()), size: size)) == .compression)
    #expect(try code(Bytes.block(compressed: [], size: size)) == .compression)
    #expect(try code(Bytes.block(compressed: Array("no frame".utf8), size: size)) == .compression)
  }

  @Test(arguments: [0, 1, 2, 3])
  func hugeCountsInABlockAreRefused(place: Int) throws {
    // Stamps, contexts, types and relationships, each after nothing.
    let zeros = [UInt64](repeating: 0, count: place)
    #expect(try code(payload(zeros + [Self.huge])) == .limitExceeded)
    #expect(try code(payload(zeros + [1_000])) == .limitExceeded)
  }

  /// A block without dictionaries and with one group, as far as `body` writes it.
  private func group(afterTypes count: Int, _ body: (inout ByteWriter) -> Void) throws -> WireError.Code? {
    var writer = ByteWriter()
    for _ in 0..<2 + count { writer.varint(0) }
    writer.varint(1)
    body(&writer)
    return try code(Bytes.block(writer.bytes + [UInt8](repeating: 0, count: 16)))
  }

  @Test func hugeCountsInAGroupAreRefused() throws {
    let limit = UInt64(WireLimits.fields)
    let records: [(what: String, texts: [String], numbers: [UInt64])] = [
      ("length of a type", [], [Self.huge]),
      ("length of a type", [String(repeating: "a", count: WireLimits.identifierBytes + 1)], []),
      ("fields", ["A"], [limit + 1]),
      ("length of a field", ["A"], [1, Self.huge]),
      ("records", ["A"], [0, Self.huge]),
      ("records with texts", ["A"], [0, 0, Self.huge]),
      ("length of a key", ["A"], [0, 0, 1, 256]),
    ]
    for (what, texts, numbers) in records {
      let code = try group(afterTypes: 0) { writer in
        for text in texts { writer.text(text) }
        for number in numbers { writer.varint(number) }
      }
      #expect(code == .limitExceeded, "\(what)")
    }
    let links: (inout ByteWriter) -> Void = { writer in
      for name in ["A", "b", "C"] { writer.text(name) }
      writer.varint(Self.huge)
    }
    #expect(try group(afterTypes: 1, links) == .limitExceeded)
  }

  @Test func hugeNumberOfReplicasIsRefused() {
    for count in [UInt64(WireLimits.replicas) + 1, Self.huge, .max] {
      var writer = ByteWriter()
      writer.bytes = [0x54, 0x4C, DeltaHeader.versions.lowerBound, 0]
      writer.varint(count)
      #expect(Bytes.refusal(of: writer.bytes)?.code == .limitExceeded)
    }
  }

  @Test func sequencesBeyondTheirRangeAreRefused() {
    for (from, more) in [(UInt64.max, UInt64(1)), (0, 0), (0, 1 << 63), (1 << 62, 1 << 62)] {
      var writer = ByteWriter()
      writer.bytes = [0x54, 0x4C, DeltaHeader.versions.lowerBound, 0]
      writer.varint(1)
      writer.replica(ReplicaID(high: 1, low: 2))
      writer.varint(from)
      writer.varint(more)
      #expect(Bytes.refusal(of: writer.bytes)?.code == .malformed)
    }
  }

  @Test func numbersHaveOneForm() {
    for bytes in [[0x80, 0x00], [0xFF, 0x00], [0x81, 0x80, 0x00]] as [[UInt8]] {
      #expect(throws: WireError(.malformed, "a number is not in its shortest form")) {
        try bytes.withUnsafeBytes { raw in
          var reader = ByteReader(raw)
          return try reader.varint()
        }
      }
    }
    let long = [UInt8](repeating: 0xFF, count: 9) + [2]
    #expect(throws: WireError(.malformed, "a number exceeds 64 bits")) {
      try long.withUnsafeBytes { raw in
        var reader = ByteReader(raw)
        return try reader.varint()
      }
    }
  }

  @Test func numbersKeepTheirValue() throws {
    for number in [0, 1, 127, 128, 1 << 35, UInt64(Int64.max), .max] {
      var writer = ByteWriter()
      writer.varint(number)
      writer.zigzag(Int64(bitPattern: number))
      writer.fixed(number)
      let read = try writer.bytes.withUnsafeBytes { raw in
        var reader = ByteReader(raw)
        let numbers = [try reader.varint(), UInt64(bitPattern: try reader.zigzag()), try reader.fixed()]
        return numbers + [UInt64(reader.remaining)]
      }
      #expect(read == [number, number, number, 0])
    }
  }

  @Test func writerRefusesABlockBeyondTheLimitAndWritesNothingOfIt() throws {
    var samples = Samples(seed: 9)
    let blob = Value.blob([UInt8](repeating: 7, count: WireLimits.blockBytes + 1))
    var state = RecordState()
    state.fields = [FieldCell(field: FieldID(rawValue: 0), stamp: samples.stamp(), value: blob)]
    let group = DeltaBlock.Records(
      type: "A", fields: ["b"], items: [DeltaBlock.Record(name: try AnyRecordName("A|~|b"), state: state)])
    var count = 0
    var writer = try DeltaWriter(header: header) { count += $0.count }
    let before = count
    #expect { try writer.append(DeltaBlock(records: [group])) } throws: { ($0 as? WireError)?.code == .limitExceeded }
    #expect(count == before)
  }

  /// A frame says how much of its output a reader must remember; no block needs more than its own size at the most.
  @Test func frameWithAWindowBeyondTheLargestBlockIsRefused() throws {
    func frame(windowLog: UInt8, _ content: [UInt8]) -> [UInt8] {
      let head = UInt32(content.count) << 3 | 1
      return [0x28, 0xB5, 0x2F, 0xFD, 0, (windowLog - 10) << 3]
        + (0..<3).map { UInt8(truncatingIfNeeded: head >> (8 * UInt32($0))) } + content
    }
    var samples = Samples(seed: 9)
    let payload = try #require(try samples.plainPayloads().first)
    for (windowLog, expected) in [(UInt8(20), nil), (23, nil), (24, WireError.Code.compression)] {
      let frame = frame(windowLog: windowLog, payload)
      #expect(try code(Bytes.block(compressed: frame, size: UInt64(payload.count))) == expected)
    }
  }

  @Test(.timeLimit(.minutes(30)))
  func longHeaderInSmallPiecesCostsTimeInProportionToItsLength() throws {
    let target = StateVector((1...5_000).map { (ReplicaID(high: 0, low: $0), $0) })
    let header = DeltaHeader(base: StateVector(), target: target)
    #expect(try Bytes.read(Bytes.write(header, []), inPiecesOf: 1).header == header)
  }
}
