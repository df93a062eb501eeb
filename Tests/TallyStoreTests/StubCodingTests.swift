import Tally
import TallyCRDT
import TallyTesting
import Testing

@testable import TallyStore

/// The bytes of stubs: from a stub its state follows, and from the state the stub.
@Suite struct StubCodingTests {
  private static let schema = Schema([
    EntitySchema("Shelf", .text("name")),
    EntitySchema(
      "Book", .text("title"), .reference("shelf", to: "Shelf", onDelete: .cascade), .reference("next", to: "Book"),
      .reference("last", to: "Book")),
  ])
  private static let replicas = (1...5).map { ReplicaID(high: UInt64($0), low: 9) }

  /// Draws states that a record can be left in.
  private struct Draw {
    var random: SplitMix64
    let references: [FieldID]

    mutating func dot() -> Dot {
      let sequence = [random.next() % 100, random.next() % 3_000_000, UInt64(Int64.max) - random.next() % 3]
      return Dot(replica: random.pick(StubCodingTests.replicas), sequence: max(1, random.pick(sequence)))
    }

    mutating func stamp(rank: Rank = .user) -> Stamp {
      let time = [random.next() % 1000, 1_800_000_000_000 + random.next() % 100_000_000, HybridTime.maximum]
      return Stamp(rank: rank, time: HybridTime(milliseconds: random.pick(time)), dot: dot())
    }

    mutating func vector() -> StateVector {
      (0..<random.below(4)).reduce(into: StateVector()) { vector, _ in vector.include(dot()) }
    }

    mutating func value() -> Value {
      random.pick([
        .null, .text("Shelf|~|386c1919-5f25-4be2-975f-5b34506c51db"), .text("Book|~|a key"), .text("Other|~|1"),
        .text("386C1919"), .text("Book|~|386C1919-5F25-4BE2-975F-5B34506C51DB"), .text(""), .integer(7), .blob([1, 2]),
      ])
    }

    mutating func stub() -> RecordState {
      var state = RecordState()
      state.existence = stamp()
      let begun = random.chance(30) ? state.existence ?? stamp() : stamp()
      var seen = vector()
      seen.include(begun.dot)
      state.life = Life(time: begun.time, dot: begun.dot, context: seen)
      if random.chance(60) {
        // A purge is a delete and a life of one transaction.
        let stamp = random.chance(30) ? begun : self.stamp(rank: random.pick([.user, .seed]))
        var context = random.chance(50) ? seen : vector()
        context.include(stamp.dot)
        state.deletes = [Delete(stamp: stamp, context: context)]
      }
      for field in references where random.chance(50) {
        let known = [state.existence, begun, state.fields.last?.stamp].compactMap { $0 }
        let stamp = random.chance(60) ? random.pick(known) : self.stamp(rank: random.pick([.user, .seed]))
        state.fields.append(FieldCell(field: field, stamp: stamp, value: value()))
      }
      state.normalizeTouches(vector())
      return state
    }
  }

  @Test func statesAndStubsFollowFromEachOther() throws {
    let store = try Store(inMemory: Self.schema)
    try store.replicate { transaction in
      let (reader, numbers) = (transaction.reader, transaction.session.numbers)
      for replica in Self.replicas { _ = try numbers.number(of: replica) }
      let kind = try #require(reader.catalog.kind(of: "Book"))
      let references = kind.columns.map(\.field).filter(\.isPresence).sorted()
      #expect(references.count == 3)
      for seed in 0..<4000 as Range<UInt64> {
        var draw = Draw(random: SplitMix64(seed: seed), references: references)
        let state = draw.stub()
        try #require(state.brokenInvariants.isEmpty && StubCoding.isStub(state), "\(seed)")
        if draw.random.chance(50) { try transaction.writer.storeContexts(of: state) }
        let sum = StateSum(rawValue: UInt32(seed))
        func bytes(_ state: RecordState) throws -> [UInt8] {
          try StubCoding.encode(
            state, sum, reader.catalog, isShared: { reader.knows(context: $0, of: $1) },
            replicaNumber: numbers.number(of:))
        }
        let stub = try bytes(state)
        let read = try stub.withUnsafeBytes { try StubCoding.decode($0, reader) }
        try #require(read.state == state && read.sum == sum, "\(seed)")
        try #require(try bytes(read.state) == stub, "\(seed)")
        // Whatever a disk makes of it is read as a stub or refused.
        var damaged = stub
        damaged[draw.random.below(stub.count)] ^= UInt8(1 + draw.random.below(255))
        if let other = try? damaged.withUnsafeBytes({ try StubCoding.decode($0, reader) }) {
          #expect(StubCoding.isStub(other.state) && other.state.brokenInvariants.isEmpty, "\(seed)")
        }
        // Nothing shorter or longer is a stub.
        for other in [Array(stub.dropLast()), stub + [0]] {
          #expect(throws: StoreError.self, "\(seed)") {
            try other.withUnsafeBytes { _ = try StubCoding.decode($0, reader) }
          }
        }
      }
    }
  }

  /// The example of `Docs/StorageFormat.md`: a book that was deleted a day after it was written, and emptied 31 days
  /// after that.
  @Test func aStubsBytesAreThoseOfTheDocumentation() throws {
    let store = try Store(inMemory: Self.schema)
    try store.replicate { transaction in
      let (replica, day) = (Self.replicas[0], 86_400_000 as UInt64)
      func stamp(_ sequence: UInt64, days: UInt64) -> Stamp {
        Stamp(
          time: HybridTime(milliseconds: 1_795_272_574_963 + days * day), dot: Dot(replica: replica, sequence: sequence)
        )
      }
      let kind = try #require(transaction.reader.catalog.kind(of: "Book"))
      let shelf = try #require(kind.columns.first { $0.name == "shelf" })
      let value = Value.text("Shelf|~|386c1919-5f25-4be2-975f-5b34506c51db")
      var state = RecordState(
        inserted: stamp(2, days: 0), fields: [FieldCell(field: shelf.field, stamp: stamp(2, days: 0), value: value)])
      let seen = StateVector([(replica, UInt64(7))])
      state.deletes = [Delete(stamp: stamp(5, days: 1), context: StateVector([(replica, UInt64(5))]))]
      state.life = Life(time: stamp(7, days: 32).time, dot: stamp(7, days: 32).dot, context: seen)
      let name = try AnyRecordName("Book|~|emma")
      let sum = StateSum(transaction.catalog.fingerprint(name, kind, from: nil, to: state))
      let bytes = try StubCoding.encode(
        state, sum, transaction.catalog, isShared: { _, _ in true },
        replicaNumber: transaction.session.numbers.number(of:))
      let documented = [
        "28", "d5df63", "0602e69face9bf68", "060580f0b252", "06078090a9fa13", "01", "07", "00", "02",
        "386c19195f254be2975f5b34506c51db",
      ]
      #expect(Hexadecimal.text(bytes) == documented.joined())
    }
  }

  /// Whatever is said, and what seeds say, keeps a record from being a stub.
  @Test func whatHoldsAnythingIsNoStub() {
    let references = [FieldID(rawValue: 1, isPresence: true)]
    var draw = Draw(random: SplitMix64(seed: 1), references: references)
    let stub = draw.stub()
    func isStub(_ change: (inout RecordState) -> Void) -> Bool {
      var state = stub
      change(&state)
      return StubCoding.isStub(state)
    }
    #expect(isStub { _ in })
    let stamp = draw.stamp()
    #expect(!isStub { $0.life = nil })
    #expect(!isStub { $0.life?.said = stamp.dot })
    #expect(!isStub { $0.fields = [FieldCell(field: FieldID(rawValue: 0), stamp: stamp, value: .integer(1))] })
    #expect(!isStub { $0.existence = nil })
    #expect(!isStub { $0.seed = SeedState(layers: []) })
    let deletes = (0..<2).map { _ in Delete(stamp: draw.stamp(), context: stub.touches) }
    #expect(!isStub { $0.deletes = deletes })
  }
}
