import TallyCRDT
import Testing

/// Registers that belong to a life: the laws of their join, on states that histories lead to and on a few by hand.
@Suite struct LifeTests {
  static let seeds = UInt64(1)...600

  private func forAll(_ check: (LifeSamples.Replica, LifeSamples.Replica, LifeSamples.Replica, UInt64) -> Void) {
    for seed in Self.seeds {
      let replicas = LifeSamples(seed: seed).replicas
      check(replicas[0], replicas[1], replicas[2], seed)
    }
  }

  @Test func joinIsCommutativeAssociativeIdempotent() {
    forAll { a, b, c, seed in
      let both = a.record.merging(b.record)
      #expect(both == b.record.merging(a.record), "seed \(seed)")
      #expect(both.merging(c.record) == a.record.merging(b.record.merging(c.record)), "seed \(seed)")
      #expect(both.merging(a.record) == both && a.record.merging(a.record) == a.record, "seed \(seed)")
      #expect(a.record.merging(RecordState()) == a.record && RecordState().merging(a.record) == a.record)
      #expect(both.brokenInvariants == [], "seed \(seed)")
    }
  }

  /// The pieces of all three in any order, so that a piece of one life meets pieces of others.
  @Test func joinOfPiecesIsTheWholeInAnyOrder() {
    forAll { a, b, c, seed in
      let whole = a.record.merging(b.record).merging(c.record)
      for limit in [1, 60, 1_000] {
        let parts = [a, b, c].flatMap { $0.record.parts(ofBytes: limit, fields: max(1, limit / 30)) }
        #expect(parts.reduce(RecordState()) { $0.merging($1) } == whole, "seed \(seed)")
        #expect(parts.reversed().reduce(RecordState()) { $0.merging($1) } == whole, "seed \(seed)")
      }
    }
  }

  @Test func deltaSinceAVectorGivesTheWholeJoin() {
    forAll { a, b, _, seed in
      let delta = b.record.delta(since: a.vector) ?? RecordState()
      #expect(a.record.merging(delta) == a.record.merging(b.record), "seed \(seed)")
      #expect(a.record.delta(since: a.vector) == nil, "seed \(seed)")
      // A receiver must know of which life a part is, also where it holds no register.
      if delta != RecordState() { #expect(delta.life?.stamp == b.record.life?.stamp, "seed \(seed)") }
      #expect(a.record.delta(since: StateVector()) ?? RecordState() == a.record, "seed \(seed)")
      // A vector that is not empty and covers nothing of it.
      let stranger = StateVector([(ReplicaID(high: 77, low: 7), UInt64(1))])
      #expect(a.record.delta(since: stranger) ?? RecordState() == a.record, "seed \(seed)")
    }
  }

  /// Whoever covers all dots of a state lacks nothing, and whoever lacks one of them lacks something.
  @Test func dotsAreComplete() {
    forAll { a, _, _, seed in
      let all = StateVector(a.record.dots.map { ($0.replica, $0.sequence) })
      #expect(a.record.delta(since: all) == nil, "seed \(seed)")
      for dot in a.record.dots {
        var less = all
        less[dot.replica] = dot.sequence - 1
        #expect(a.record.delta(since: less) != nil, "seed \(seed) without \(dot)")
      }
    }
  }

  /// Presence is joined as if there were no lives: what a life drops stays as a touch.
  @Test func touchesAndReferencesOutlastEveryLife() {
    forAll { a, b, _, seed in
      let joined = a.record.merging(b.record)
      #expect(joined.touches == a.record.touches.merging(b.record.touches), "seed \(seed)")
      let references = [a, b].flatMap(\.record.fields).filter(\.field.isPresence)
      #expect(joined[LifeSamples.owner]?.stamp == references.map(\.stamp).max(), "seed \(seed)")
      let lives = [a, b].compactMap(\.record.life?.stamp)
      #expect(joined.life?.stamp == lives.max(), "seed \(seed)")
    }
  }

  /// The samples contain what the laws are about.
  @Test func theSamplesHaveLivesOfAllKinds() {
    var (lives, vias, void, same) = (0, 0, 0, 0)
    forAll { a, b, _, _ in
      if a.record.life != nil { lives += 1 }
      if a.record.life?.vias.isEmpty == false { vias += 1 }
      if let mine = a.record.life, let theirs = b.record.life {
        if mine.stamp == theirs.stamp, a.record != b.record { same += 1 }
        if theirs.isLater(than: mine), a.record.fields.contains(where: { !$0.field.isPresence }) { void += 1 }
      }
    }
    #expect(lives > 200 && vias > 50 && void > 30 && same > 20)
  }

  @Test func statesThatDifferHaveDifferentFingerprintsAndDifferencesAddUp() {
    func sum(_ state: RecordState) -> Fingerprint { state.fingerprint(name: 1) { UInt64($0.rawValue) } }
    var states: [Fingerprint: RecordState] = [:]
    forAll { a, b, _, seed in
      for state in [a.record, b.record] {
        #expect(states.updateValue(state, forKey: sum(state)) ?? state == state, "seed \(seed)")
      }
      var both = sum(a.record)
      both += b.record.fingerprint(replacing: a.record, name: 1) { UInt64($0.rawValue) }
      #expect(both == sum(b.record), "seed \(seed)")
    }
    #expect(states.count > 600)
  }

  /// The record and the author are those of `Docs/WireFormat.md`; a program of its own has computed the values.
  @Test func livesHashAsTheDecisionSays() {
    let author = ReplicaID(high: 0xA0A1_A2A3_A4A5_A6A7, low: 0xA8A9_AAAB_ACAD_AEAF)
    let other = ReplicaID(high: 0xB0B1_B2B3_B4B5_B6B7, low: 0xB8B9_BABB_BCBD_BEBF)
    let start = HybridTime(milliseconds: 1_767_225_600_000)
    let record = SipHash13.hash("SBGame|~|386c1919-5f25-4be2-975f-5b34506c51db")
    func sum(_ state: RecordState) -> Fingerprint {
      state.fingerprint(name: record) { _ in SipHash13.hash("name") }
    }
    func difference(_ change: (inout RecordState) -> Void, from old: RecordState) -> String {
      var new = old
      change(&new)
      var result = sum(new)
      result -= sum(old)
      #expect(new.fingerprint(replacing: old, name: record) { _ in SipHash13.hash("name") } == result)
      return result.description
    }
    let insert = Stamp(time: start, dot: Dot(replica: author, sequence: 1))
    let cell = FieldCell(field: LifeSamples.title, stamp: insert, value: .text("Chess"))
    var state = RecordState(inserted: insert, fields: [cell])
    let begun = Life(
      time: HybridTime(milliseconds: start.milliseconds + 4), dot: Dot(replica: author, sequence: 4),
      context: StateVector([(author, UInt64(4)), (other, UInt64(7))]))
    let lift = Dot(replica: other, sequence: 8)
    #expect(difference({ $0.life = begun }, from: state) == "2a7c9ad350188f0b31c50c76fd33b7fa")
    state.life = begun
    #expect(difference({ $0.life?[via: cell.field] = lift }, from: state) == "3dfe198d7e989a976b75fadda5ec8de1")
    #expect(difference({ $0.life?.said = lift }, from: state) == "4bb5282ccba2b5aa9bfeb9caf1b14a17")
  }

  // MARK: By hand

  private func dot(_ replica: UInt64, _ sequence: UInt64) -> Dot {
    Dot(replica: ReplicaID(high: replica, low: 0), sequence: sequence)
  }

  private func cell(_ time: UInt64, _ dot: Dot, _ value: Value = .null, field: FieldID = LifeSamples.title) -> FieldCell
  {
    FieldCell(field: field, stamp: Stamp(time: HybridTime(milliseconds: time), dot: dot), value: value)
  }

  private func life(_ time: UInt64, _ dot: Dot, seen: Dot...) -> Life {
    Life(
      time: HybridTime(milliseconds: time), dot: dot,
      context: StateVector(([dot] + seen).map { ($0.replica, $0.sequence) }))
  }

  private func state(_ life: Life?, _ cells: FieldCell..., vias: (FieldID, Dot)...) -> RecordState {
    var state = RecordState()
    state.life = life
    for (field, dot) in vias { state.life?[via: field] = dot }
    state.fields = cells
    return state
  }

  /// A later write of an earlier life loses to an earlier write of a later life, and is no lost write.
  @Test func aLaterLifeWinsWhole() {
    let old = state(nil, cell(9, dot(1, 1), .text("old")), cell(9, dot(1, 2), .text("kept"), field: LifeSamples.owner))
    let new = state(life(5, dot(2, 1)), cell(6, dot(2, 2), .text("new")))
    for (mine, theirs) in [(old, new), (new, old)] {
      var joined = mine
      var lost: [LostWrite] = []
      joined.merge(theirs, lost: &lost)
      #expect(joined.fields.map(\.value) == [.text("new"), .text("kept")])
      #expect(joined.life == new.life && lost.isEmpty)
      #expect(joined.touches.covers(dot(1, 1)))
      #expect(joined.dots.contains(dot(2, 1)))
    }
  }

  @Test func ofTwoLivesOfOneTimeTheGreaterDotWins() {
    let one = state(life(5, dot(1, 9)), cell(8, dot(1, 9), .text("one")))
    let other = state(life(5, dot(2, 1)), cell(7, dot(2, 1), .text("other")))
    #expect(one.merging(other).fields.map(\.value) == [.text("other")])
    #expect(other.merging(one) == one.merging(other))
  }

  /// Stamp before value before the dot to travel by.
  @Test func withinALifeTheGreaterDotToTravelByStays() {
    let begun = life(5, dot(1, 1))
    func lifted(_ time: UInt64, _ value: Value, via: Dot) -> RecordState {
      state(begun, cell(time, dot(3, 1), value), vias: (LifeSamples.title, via))
    }
    func expect(_ one: RecordState, beats other: RecordState) {
      #expect(one.merging(other) == one && other.merging(one) == one)
    }
    expect(lifted(2, .null, via: dot(1, 2)), beats: lifted(1, .null, via: dot(2, 2)))
    expect(lifted(1, .text("b"), via: dot(1, 2)), beats: lifted(1, .text("a"), via: dot(2, 2)))
    expect(lifted(1, .null, via: dot(2, 2)), beats: lifted(1, .null, via: dot(1, 2)))
    // One that travels by its stamp's dot, against one that was lifted.
    expect(state(begun, cell(1, dot(3, 1))), beats: lifted(1, .null, via: dot(2, 2)))
    expect(lifted(1, .null, via: dot(4, 2)), beats: state(begun, cell(1, dot(3, 1))))
  }

  @Test func ofTwoCopiesOfALifeTheLesserContextStays() {
    let one = state(life(5, dot(1, 4), seen: dot(2, 7), dot(3, 1)))
    let other = state(life(5, dot(1, 4), seen: dot(2, 3), dot(4, 1)))
    let both = one.merging(other)
    #expect(both == other.merging(one))
    #expect(both.life?.context == StateVector([(dot(1, 4).replica, UInt64(4)), (dot(2, 3).replica, UInt64(3))]))
  }

  /// Numbers were issued twice: the peer's vector covers the lift, and not the edit that was lifted.
  @Test func aRegisterThatADeltaLeavesOutIsRepresentedByItsTouch() {
    let lifted = state(life(5, dot(1, 1)), cell(2, dot(3, 4)), vias: (LifeSamples.title, dot(1, 2)))
    let base = StateVector([(dot(1, 2).replica, UInt64(2)), (dot(3, 3).replica, UInt64(3))])
    let delta = lifted.delta(since: base)
    #expect(delta?.fields == [] && delta?.supersededTouches == StateVector([(dot(3, 4).replica, UInt64(4))]))
    #expect(delta?.life?.stamp == lifted.life?.stamp && delta?.life?.vias == [])
    #expect(delta?.brokenInvariants == [])
  }

  @Test func aRecordWithALifeIsNoUntouchedInsert() {
    let stamp = cell(1, dot(1, 1)).stamp
    var state = RecordState(inserted: stamp, fields: [cell(1, dot(1, 1))])
    #expect(state.uniformStamp == stamp)
    state.life = life(5, dot(2, 1))
    #expect(state.uniformStamp == nil && !state.isEmpty)
  }

  @Test func newNumbersOfFieldsKeepWhatRegistersTravelBy() {
    var state = state(
      life(5, dot(1, 1)), cell(2, dot(3, 4)), cell(3, dot(3, 5), field: LifeSamples.note),
      vias: (LifeSamples.title, dot(1, 2)))
    let before = Set(zip(state.fields.map(\.stamp), state.fieldVias).map { "\($0) \($1)" })
    state.renumberFields { FieldID(rawValue: 9 - $0.rawValue) }
    #expect(Set(zip(state.fields.map(\.stamp), state.fieldVias).map { "\($0) \($1)" }) == before)
    #expect(state.brokenInvariants == [])
  }

  @Test func aStateThatIsNotCanonicalIsTold() {
    var stranger = state(life(5, dot(1, 1)), cell(2, dot(3, 4)))
    stranger.life?.vias = [Life.Via(field: LifeSamples.note, dot: dot(1, 2))]
    let rule = "only a register of a life has a dot to travel by, and another one than its stamp's"
    #expect(stranger.brokenInvariants == [rule])
    stranger.life?.vias = [Life.Via(field: LifeSamples.title, dot: dot(3, 4))]
    #expect(stranger.brokenInvariants == [rule])
    stranger.life?.vias = []
    stranger.life?.context = StateVector()
    #expect(stranger.brokenInvariants == ["a life has seen itself"])
  }
}
