import TallyCRDT
import TallyWire
import Testing

/// Records that have a life, on the wire.
@Suite struct LifeWireTests {
  private static let header = DeltaHeader(
    base: StateVector(), target: Golden.vector([(Golden.first, 5), (Golden.second, 4)]))
  private static let time: UInt64 = 1_700_000_000_000
  private static let insert = Golden.stamp(Golden.first, 3, time)
  private static let shred = Golden.stamp(Golden.first, 5, time + 9)
  private static let purge = Golden.stamp(Golden.second, 4, time + 30)
  private static let (title, count, owner) = (UInt32(0), UInt32(1), UInt32(2))

  private static func dot(_ replica: ReplicaID, _ sequence: UInt64) -> Dot { Dot(replica: replica, sequence: sequence) }

  private static func life(
    _ stamp: Stamp, _ context: [(ReplicaID, UInt64)], said: Dot? = nil, _ vias: [(UInt32, Dot)] = []
  ) -> Life {
    var life = Life(time: stamp.time, dot: stamp.dot, context: Golden.vector(context))
    life.said = said
    for (field, dot) in vias { life[via: FieldID(rawValue: field)] = dot }
    return life
  }

  /// The records of `Tests/Models/golden.py`, in another order.
  private static func block() throws -> DeltaBlock {
    let seen = [(Golden.first, UInt64(5)), (Golden.second, UInt64(1))]
    let place = Value(text: "SBPlace|~|0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0ff")
    var stub = RecordState(inserted: insert, fields: [Golden.cell(owner, insert, place)])
    stub.deletes = [
      Delete(
        stamp: Golden.stamp(Golden.first, 4, time + 7), context: Golden.vector([(Golden.first, 4), (Golden.second, 1)]))
    ]
    stub.life = life(shred, seen)
    let edit = Golden.stamp(Golden.second, 1, time + 5)
    var lifted = RecordState(
      inserted: insert, fields: [Golden.cell(title, insert, .text("Go")), Golden.cell(count, edit, .integer(-3))])
    let lift = dot(Golden.second, 2)
    lifted.life = life(shred, seen, said: lift, [(title, shred.dot), (count, lift)])
    let later = Golden.stamp(Golden.second, 3, time + 20)
    var written = RecordState(inserted: insert, fields: [Golden.cell(title, later, .text("Hex"))])
    written.life = life(shred, seen, said: shred.dot)
    var copied = RecordState(inserted: insert, fields: [])
    copied.deletes = [Delete(stamp: purge, context: Golden.vector([(Golden.first, 5), (Golden.second, 4)]))]
    copied.life = life(purge, [(Golden.first, 3), (Golden.second, 4)])
    let states = ["nim": copied, "go": lifted, "386c1919-5f25-4be2-975f-5b34506c51db": stub, "hex": written]
    let items = try states.map { DeltaBlock.Record(name: try AnyRecordName("SBGame|~|\($0)"), state: $1) }
    return DeltaBlock(records: [.init(type: "SBGame", fields: ["title", "count", "owner&"], items: items)])
  }

  @Test func bytesAreThoseOfTheSecondProgram() throws {
    let block = try Self.block()
    var header = Self.header
    var sum = Fingerprint()
    for item in block.records[0].items {
      sum += item.state.fingerprint(name: SipHash13.hash(item.name.text)) {
        SipHash13.hash(block.records[0].fields[Int($0.rawValue)])
      }
    }
    header.fingerprint = sum
    let bytes = try Bytes.write(header, [block])
    #expect(bytes == (try Golden.bytes("life")), "life.hex is now:\n\(Golden.text(bytes))")
  }

  @Test func whatIsReadHasTheLives() throws {
    let (_, blocks) = try Bytes.read(Golden.bytes("life"))
    let group = try #require(blocks.first?.records.first)
    #expect(group.fields == ["count", "owner&", "title"])
    let original = try Self.block().records[0]
    for item in group.items {
      var state = try #require(original.items.first { $0.name == item.name }).state
      // The fields stand in the order of their keys now.
      state.renumberFields { FieldID(rawValue: [2, 0, 1][Int($0.rawValue)]) }
      #expect(item.state == state, "\(item.name)")
    }
    #expect(group.items.count == 4)
  }

  // MARK: What is refused

  /// A block with one record, whose life is put together by hand.
  private func refusal(
    stamps: [UInt8] = [1, 2, 3, 2], contexts: [UInt8] = [1, 0, 1, 0, 3], flags: UInt8 = 3 | 64, life: [UInt8]
  ) throws -> WireError? {
    var writer = ByteWriter()
    writer.bytes = stamps + contexts + [1]
    writer.text("A")
    writer.varint(1)
    writer.text("b")
    // One value, which is null; no UUID; the key "key".
    writer.bytes += [1, 0, 0, 1]
    writer.text("key")
    writer.bytes += [flags, 0, 1] + life + [0]
    return Bytes.refusal(of: try Bytes.seal(Self.header, Bytes.block(writer.bytes)))
  }

  @Test func aLifeInItsShortestFormIsTaken() throws {
    #expect(try refusal(life: [0, 0, 0]) == nil)
    #expect(try refusal(life: [0, 1, 0]) == nil)
    #expect(try refusal(life: [0, 3, 4, 3, 2]) == nil)
  }

  @Test func aLifeInAnyOtherFormIsRefused() throws {
    // `said` and a via of the life's own dot, spelled out; a via that is the stamp's dot.
    #expect(try refusal(life: [0, 2, 3, 0])?.code == .malformed)
    #expect(try refusal(life: [0, 0, 2, 3])?.code == .malformed)
    #expect(try refusal(life: [0, 0, 1])?.code == .malformed)
    // Dots beyond the target, of no sequence, of a replica that is not there.
    #expect(try refusal(life: [0, 2, 6, 0])?.code == .malformed)
    #expect(try refusal(life: [0, 0, 3, 0])?.code == .malformed)
    #expect(try refusal(life: [0, 4, 1, 0])?.code == .malformed)
    // A stamp that is not there, and flags that nothing has.
    #expect(try refusal(life: [1, 0, 0])?.code == .malformed)
    #expect(try refusal(flags: 3 | 64 | 128, life: [0, 0, 0])?.code == .malformed)
    #expect(try refusal(life: [])?.code == .truncated)
  }

  @Test func aLifeHasTheRankOfAPersonAndAContextThatCoversIt() throws {
    #expect(try refusal(contexts: [0], life: [0, 0, 0])?.message == "a life has no context")
    #expect(try refusal(contexts: [1, 0, 1, 0, 2], life: [0, 0, 0])?.message.contains("does not cover") == true)
    #expect(try refusal(stamps: [1, 0, 3, 2], life: [0, 0, 0])?.message == "a life has the wrong rank")
  }

  /// Two contexts of one stamp are a delete's and a life's that differ; nothing has a third.
  @Test func aStampHasTwoContextsAtTheMost() throws {
    let context: [UInt8] = [0, 1, 0, 3]
    #expect(try refusal(contexts: [2] + context + context, life: [0, 0, 0])?.code == .malformed)
    let wider: [UInt8] = [0, 2, 0, 3, 1, 1]
    #expect(try refusal(contexts: [2] + wider + context, life: [0, 0, 0])?.code == .malformed)
    #expect(try refusal(contexts: [3] + wider + context + context, life: [0, 0, 0])?.code == .malformed)
  }

  @Test func onlyTheLastByteOfAFieldMarksAReference() throws {
    for key in ["&", "a&&", "a&b", "&a"] {
      var block = try Self.block()
      block.records[0].fields[2] = key
      #expect(Bytes.refusal(of: try Bytes.write(Self.header, [block]))?.code == .malformed, "\(key)")
    }
    var block = try Self.block()
    block.records[0].fields[2] = "title&"
    #expect(Bytes.refusal(of: try Bytes.write(Self.header, [block])) == nil)
  }
}
