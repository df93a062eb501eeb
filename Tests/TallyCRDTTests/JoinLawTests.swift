import TallyCRDT
import Testing

/// The laws of a join semilattice, on states that histories lead to.
@Suite struct JoinLawTests {
  static let seeds = UInt64(1)...600

  private func forAll(_ check: (Samples.Replica, Samples.Replica, Samples.Replica, UInt64) -> Void) {
    for seed in Self.seeds {
      let replicas = Samples(seed: seed).replicas
      check(replicas[0], replicas[1], replicas[2], seed)
    }
  }

  @Test func joinOfRecordsIsCommutative() {
    forAll { a, b, _, seed in
      #expect(a.record.merging(b.record) == b.record.merging(a.record), "seed \(seed)")
    }
  }

  @Test func joinOfRecordsIsAssociative() {
    forAll { a, b, c, seed in
      let left = a.record.merging(b.record).merging(c.record)
      #expect(left == a.record.merging(b.record.merging(c.record)), "seed \(seed)")
    }
  }

  @Test func joinOfRecordsIsIdempotent() {
    forAll { a, b, _, seed in
      #expect(a.record.merging(a.record) == a.record, "seed \(seed)")
      let both = a.record.merging(b.record)
      #expect(both.merging(a.record) == both, "seed \(seed)")
      #expect(a.record.merging(RecordState()) == a.record)
      #expect(RecordState().merging(a.record) == a.record)
    }
  }

  @Test func joinOfThePartsOfAStateIsTheState() {
    forAll { a, b, _, seed in
      let whole = a.record.merging(b.record)
      for limit in [1, 40, 1_000] {
        let parts = whole.parts(ofBytes: limit, fields: limit)
        #expect(parts.reversed().reduce(RecordState()) { $0.merging($1) } == whole, "seed \(seed)")
        #expect(parts.count == 1 || parts.allSatisfy { !$0.isEmpty })
      }
    }
  }

  @Test func joinOfElementsIsCommutativeAssociativeIdempotent() {
    forAll { a, b, c, seed in
      let both = a.element.merging(b.element)
      #expect(both == b.element.merging(a.element), "seed \(seed)")
      #expect(both.merging(c.element) == a.element.merging(b.element.merging(c.element)), "seed \(seed)")
      #expect(both.merging(a.element) == both && a.element.merging(a.element) == a.element, "seed \(seed)")
    }
  }

  @Test func joinOfVectorsIsCommutativeAssociativeIdempotent() {
    forAll { a, b, c, seed in
      let both = a.vector.merging(b.vector)
      #expect(both == b.vector.merging(a.vector), "seed \(seed)")
      #expect(both.merging(c.vector) == a.vector.merging(b.vector.merging(c.vector)), "seed \(seed)")
      #expect(both.merging(a.vector) == both, "seed \(seed)")
      #expect(both.covers(a.vector) && both.covers(b.vector))
    }
  }

  /// What a delta is for: joined into anything that has its base, it gives what the whole state gives.
  @Test func deltaSinceAVectorGivesTheWholeJoin() {
    forAll { a, b, _, seed in
      let delta = b.record.delta(since: a.vector) ?? RecordState()
      #expect(a.record.merging(delta) == a.record.merging(b.record), "seed \(seed)")
      let links = b.element.delta(since: a.vector) ?? ORSetElement()
      #expect(a.element.merging(links) == a.element.merging(b.element), "seed \(seed)")
    }
  }

  @Test func deltaSinceTheOwnVectorIsNothing() {
    forAll { a, _, _, seed in
      #expect(a.record.delta(since: a.vector) == nil, "seed \(seed)")
      #expect(a.element.delta(since: a.vector) == nil, "seed \(seed)")
    }
  }

  @Test func everyDotOfADeltaIsBeyondItsBase() {
    forAll { a, b, _, seed in
      guard let delta = b.record.delta(since: a.vector) else { return }
      #expect(!delta.dots.contains { a.vector.covers($0) }, "seed \(seed)")
    }
  }

  @Test func statesStayInTheirCanonicalForm() {
    forAll { a, b, _, seed in
      let joined = a.record.merging(b.record)
      #expect(joined.brokenInvariants == [], "seed \(seed)")
      for delete in joined.deletes { #expect(delete.context.covers(delete.stamp.dot)) }
      #expect(a.element.merging(b.element).brokenInvariants == [], "seed \(seed)")
    }
  }

  @Test func aStateThatIsNotCanonicalIsTold() {
    func stamp(_ sequence: UInt64) -> Stamp {
      let dot = Dot(replica: ReplicaID(high: 1, low: 1), sequence: sequence)
      return Stamp(time: HybridTime(milliseconds: sequence), dot: dot)
    }
    func context(_ sequence: UInt64) -> StateVector { StateVector([(stamp(1).dot.replica, sequence)]) }
    let cells = [1, 2].map { FieldCell(field: FieldID(rawValue: $0), stamp: stamp(1), value: .null) }
    var state = RecordState(inserted: stamp(1), fields: cells)
    #expect(state.brokenInvariants == [])
    state.fields = cells.reversed()
    #expect(state.brokenInvariants == ["registers ascend by field"])
    state.fields = []
    state.deletes = [Delete(stamp: stamp(2), context: context(2)), Delete(stamp: stamp(3), context: context(3))]
    #expect(state.brokenInvariants == ["no delete has seen another"])
    state.deletes = []
    state.supersededTouches = context(1)
    #expect(state.brokenInvariants == ["no superseded touch is one that a cell shows"])
    var element = ORSetElement()
    element.tags = [.init(added: stamp(2)), .init(added: stamp(1))]
    #expect(!element.brokenInvariants.isEmpty)
  }

  /// A touch is never forgotten: joining loses none, nor does a register that is overwritten.
  @Test func touchesOfAJoinAreThoseOfBoth() {
    forAll { a, b, _, seed in
      let joined = a.record.merging(b.record)
      #expect(joined.touches == a.record.touches.merging(b.record.touches), "seed \(seed)")
      #expect(joined.deletedContext == a.record.deletedContext.merging(b.record.deletedContext), "seed \(seed)")
    }
  }

  @Test func forgedValuesUnderOneStampConverge() {
    let stamp = Stamp(time: HybridTime(milliseconds: 5), dot: Dot(replica: ReplicaID(high: 1, low: 1), sequence: 1))
    let values: [Value] = [
      .null, .integer(1), .integer(-1), Value(real: 1), .text("a"), .text("b"), .blob([]), .blob([1]),
    ]
    for first in values {
      for second in values {
        let states = [first, second].map { value in
          RecordState(
            inserted: stamp, fields: [FieldCell(field: FieldID(rawValue: 1), stamp: stamp, value: value)])
        }
        let joined = states[0].merging(states[1])
        #expect(joined == states[1].merging(states[0]))
        #expect(joined.fields.map(\.value) == [max(first, second)])
      }
    }
  }

  @Test func forgedCopiesOfOneDeleteConverge() {
    for seed in UInt64(1)...50 {
      var samples = Samples(seed: seed)
      let dot = Dot(replica: ReplicaID(high: 9, low: 9), sequence: 1)
      let states = samples.replicas.map { replica in
        var state = replica.record
        var context = replica.vector
        context.include(dot)
        let time = HybridTime(milliseconds: UInt64(samples.random.below(3)))
        state.deletes = [Delete(stamp: Stamp(time: time, dot: dot), context: context)]
        return state
      }
      let left = states[0].merging(states[1]).merging(states[2])
      #expect(left == states[2].merging(states[1].merging(states[0])), "seed \(seed)")
    }
  }

  @Test func mergeTellsOfTheWritesThatLost() {
    let field = FieldID(rawValue: 1)
    let cells = [UInt64(1), 2].map { time in
      let dot = Dot(replica: ReplicaID(high: time, low: 0), sequence: 1)
      return FieldCell(
        field: field, stamp: Stamp(time: HybridTime(milliseconds: time), dot: dot), value: .integer(Int64(time)))
    }
    for local in 0...1 {
      var state = RecordState()
      state.fields = [cells[local]]
      var other = RecordState()
      other.fields = [cells[1 - local]]
      var lost: [LostWrite] = []
      state.merge(other, lost: &lost)
      #expect(lost.map(\.loser) == [cells[0]] && lost.map(\.winner) == [cells[1]])
      #expect(lost.map(\.wasLocal) == [local == 0])
    }
  }
}
