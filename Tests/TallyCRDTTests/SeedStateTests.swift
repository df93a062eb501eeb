import TallyCRDT
import TallyTesting
import Testing

/// The laws of a join semilattice on what seeds say, and what the app sees of it.
@Suite struct SeedStateTests {
  private struct Sample {
    var state: SeedState
    var vector: StateVector
  }

  /// Three replicas that have brought some of five editions, and edited with some of them in front of them.
  private func samples(_ seed: UInt64) -> [Sample] {
    var random = SplitMix64(seed: seed)
    return (0..<3).map { replica in
      var sample = Sample(state: SeedState(layers: []), vector: StateVector())
      for edition in UInt64(1)...5 where random.chance(50) {
        let layer = Self.layer(edition)
        sample.state = sample.state.merging(SeedState(layers: [layer]))
        sample.vector.include(layer.stamp.dot)
      }
      guard random.chance(60), let seen = sample.state.newestContent else { return sample }
      let dot = Dot(replica: ReplicaID(high: 0, low: UInt64(replica)), sequence: 1)
      let stamp = Stamp(time: HybridTime(milliseconds: UInt64(random.below(3))), dot: dot)
      sample.state = sample.state.merging(SeedState(layers: [], basis: SeedBasis(stamp: stamp, layer: seen.stamp)))
      sample.vector.include(dot)
      return sample
    }
  }

  /// Editions 4 and 5 are two builds of one version; edition 3 retires the record.
  private static func layer(_ edition: UInt64, value: Int64? = nil) -> SeedLayer {
    let dot = Dot(replica: ReplicaID(high: 100 - edition, low: 0), sequence: 1)
    let stamp = Stamp(rank: .seed, time: HybridTime(milliseconds: min(edition, 4)), dot: dot)
    let fields = (0..<UInt32(edition)).map {
      FieldCell(field: FieldID(rawValue: $0), stamp: stamp, value: .integer(value ?? Int64(edition)))
    }
    return SeedLayer(stamp: stamp, isRetired: edition == 3, fields: edition == 3 ? [] : fields)
  }

  private func forAll(_ check: ([Sample], UInt64) -> Void) {
    for seed in UInt64(1)...300 { check(samples(seed), seed) }
  }

  @Test func joinOfSeedsIsCommutativeAssociativeIdempotent() {
    forAll { samples, seed in
      let (a, b, c) = (samples[0].state, samples[1].state, samples[2].state)
      let both = a.merging(b)
      #expect(both == b.merging(a), "seed \(seed)")
      #expect(both.merging(c) == a.merging(b.merging(c)), "seed \(seed)")
      #expect(both.merging(a) == both && a.merging(a) == a, "seed \(seed)")
      #expect(both.hashValue == b.merging(a).hashValue, "seed \(seed)")
    }
  }

  @Test func deltaOfSeedsGivesTheWholeJoin() {
    forAll { samples, seed in
      let (a, b) = (samples[0], samples[1])
      let delta = b.state.delta(since: a.vector)
      #expect(a.state.merging(delta ?? SeedState(layers: [])) == a.state.merging(b.state), "seed \(seed)")
      #expect(delta?.dots.contains { a.vector.covers($0) } != true, "seed \(seed)")
      #expect(a.state.delta(since: a.vector) == nil, "seed \(seed)")
    }
  }

  @Test func layersAscendAndTheNewerBasisCounts() {
    forAll { samples, seed in
      let joined = samples[0].state.merging(samples[1].state).merging(samples[2].state)
      #expect(zip(joined.layers, joined.layers.dropFirst()).allSatisfy { $0.stamp < $1.stamp }, "seed \(seed)")
      #expect(joined.basis?.layer == samples.compactMap(\.state.basis?.layer).max(), "seed \(seed)")
      #expect(joined.shown(followsNewest: true)?.isRetired != true, "seed \(seed)")
      let shown = joined.shown(followsNewest: false)
      #expect(shown?.stamp == joined.basis?.layer ?? joined.newestContent?.stamp, "seed \(seed)")
    }
  }

  @Test func forgedCopiesOfOneLayerConverge() {
    let copies = [Int64(1), 2, 3].map { SeedState(layers: [Self.layer(2, value: $0)]) }
    let retired = SeedState(layers: [SeedLayer(stamp: Self.layer(2).stamp, isRetired: true)])
    let left = copies[0].merging(copies[1]).merging(copies[2])
    #expect(left == copies[2].merging(copies[0].merging(copies[1])))
    #expect(left.layers == [Self.layer(2, value: 3)])
    #expect(left.merging(retired) == retired && retired.merging(left) == retired)
    let later = Stamp(rank: .seed, time: HybridTime(milliseconds: 9), dot: Self.layer(2).stamp.dot)
    let others = [SeedState(layers: [SeedLayer(stamp: later)]), copies[1], copies[2]]
    #expect(others[0].merging(others[1]).merging(others[2]) == others[0].merging(others[2].merging(others[1])))
    #expect(left.merging(retired).merging(copies[0]) == left.merging(retired.merging(copies[0])))
  }

  @Test func memberOfASeedCountsWhileItsVersionShows() {
    let (old, new) = (Self.layer(1).stamp, Self.layer(2).stamp)
    var element = ORSetElement(added: old)
    #expect(element.isMember { old.dot })
    #expect(!element.isMember { new.dot })
    #expect(!element.isMember { nil })
    element.add(new)
    let removal = Dot(replica: ReplicaID(high: 0, low: 1), sequence: 1)
    var removed = ORSetElement(added: old)
    removed.remove(Stamp(time: HybridTime(milliseconds: 9), dot: removal))
    element.merge(removed)
    #expect(!element.isMember { new.dot } && !element.mayBeMember && element.isRefused)
    element.add(Stamp(time: HybridTime(milliseconds: 0), dot: Dot(replica: removal.replica, sequence: 2)))
    #expect(element.isMember { nil } && !element.isRefused)
    #expect(element.liveDots.count == 1)
  }
}
