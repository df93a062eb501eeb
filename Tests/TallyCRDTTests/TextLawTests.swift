import TallyCRDT
import TallyTesting
import Testing

/// The laws of a mergeable text, on states that histories lead to, and against a specification that knows elements
/// alone.
@Suite struct TextLawTests {
  private func forAll(_ seeds: ClosedRange<UInt64>, _ check: (TextHistory, UInt64) -> Void) {
    for seed in seeds { check(TextHistory(seed: seed), seed) }
  }

  @Test func joinIsCommutativeAssociativeIdempotent() {
    forAll(1...150) { history, seed in
      let states = history.replicas.map(\.text.state)
      let (a, b, c) = (states[0], states[1], states[states.count - 1])
      let both = a.merging(b)
      #expect(both == b.merging(a), "seed \(seed)")
      #expect(both.merging(c) == a.merging(b.merging(c)), "seed \(seed)")
      #expect(both.merging(a) == both && a.merging(a) == a, "seed \(seed)")
      #expect(a.merging(TextState()) == a && TextState().merging(a) == a, "seed \(seed)")
      #expect(both.hashValue == b.merging(a).hashValue)
      #expect(both.brokenInvariants == [], "seed \(seed)")
    }
  }

  @Test func joinIsThatOfTheElements() {
    forAll(200...300) { history, seed in
      let (a, b) = (history.replicas[0].text.state, history.replicas[1].text.state)
      var (joined, expected) = (
        TextSpecification(a.merging(b)), TextSpecification(a).joined(TextSpecification(b))
      )
      (joined.latest, expected.latest) = (nil, nil)
      #expect(joined == expected, "seed \(seed)")
    }
  }

  @Test func latestEditIsTheOneOfTheGreaterStamp() {
    forAll(1...100) { history, seed in
      let (a, b) = (history.replicas[0].text.state, history.replicas[1].text.state)
      #expect(a.merging(b).latest == [a.latest, b.latest].compactMap { $0 }.max(), "seed \(seed)")
    }
  }

  /// What a delta is for: joined into anything that has its base, it gives what the whole state gives.
  @Test func deltaSinceAnyVectorIsThatOfTheElementsAndGivesTheWholeJoin() {
    forAll(300...400) { history, seed in
      let (a, b) = (history.replicas[0], history.replicas[1])
      let delta = b.text.state.delta(since: a.vector) ?? TextState()
      #expect(a.text.state.merging(delta) == a.text.state.merging(b.text.state), "seed \(seed)")
      #expect(a.text.state.delta(since: a.vector) == nil, "seed \(seed)")
      var random = SplitMix64(seed: seed)
      for _ in 0..<10 {
        let vector = StateVector(b.vector.entries.map { ($0.replica, UInt64(random.below(Int($0.sequence) + 1))) })
        let part = b.text.state.delta(since: vector) ?? TextState()
        #expect(TextSpecification(part) == TextSpecification(b.text.state).delta(since: vector), "seed \(seed)")
        #expect(part.brokenInvariants == [], "seed \(seed)")
        #expect(b.text.state.merging(part) == b.text.state, "seed \(seed)")
      }
    }
  }

  /// Stretches are a way to write elements down. States that were put together from single elements, in any order, are
  /// the states that grew, to their bytes.
  @Test func statesOfTheSameElementsAreEqualHoweverTheyCameAbout() {
    forAll(400...440) { history, seed in
      let state = history.replicas[0].text.state
      let replicas = state.replicas
      var random = SplitMix64(seed: seed)
      var parts = Self.elements(of: state)
      parts.append(TextState(latest: state.latest, latestVia: state.latestVia, runs: []))
      var result = TextState()
      while !parts.isEmpty { result.merge(parts.remove(at: random.below(parts.count))) }
      #expect(result == state, "seed \(seed)")
      #expect(result.encoded(replicas: replicas) == state.encoded(replicas: replicas), "seed \(seed)")
      #expect(result.fingerprint(name: 1, field: 2) == state.fingerprint(name: 1, field: 2), "seed \(seed)")
      #expect(MergeableText(result).text == history.replicas[0].text.text, "seed \(seed)")
    }
  }

  private static func elements(of state: TextState) -> [TextState] {
    state.runs.flatMap { run in
      run.stretches.flatMap { stretch in
        (stretch.first..<stretch.end).map { place in
          let part = stretch.part(place..<place + 1)
          return TextState(latest: nil, runs: [TextRun(id: run.id, origin: run.origin, stretches: [part])])
        }
      }
    }
  }

  @Test func orderAndTextAreThoseOfTheSpecification() {
    forAll(500...560) { history, seed in
      for replica in history.replicas {
        let specification = TextSpecification(replica.text.state)
        let elements = replica.text.elements
        #expect(elements.map(\.element) == specification.order, "seed \(seed)")
        #expect(elements.filter(\.isShown).map(\.element) == specification.shown, "seed \(seed)")
        #expect(replica.text.text == specification.text, "seed \(seed)")
        #expect(replica.text.count == specification.shown.count, "seed \(seed)")
        #expect(replica.text.byteCount == specification.text.utf8.count, "seed \(seed)")
        let again = MergeableText(replica.text.state)
        #expect(again.elements.map(\.element) == elements.map(\.element), "seed \(seed)")
        #expect(again.text == replica.text.text && again.byteCount == replica.text.byteCount, "seed \(seed)")
      }
    }
  }

  /// No two bursts of typing that had not seen each other are mixed, forwards or backwards, over any number of
  /// transactions, and no element ever changes its place among others.
  @Test func whatIsTypedConcurrentlyIsNeverMixed() {
    var pairs = 0
    for seed in 1...120 as ClosedRange<UInt64> {
      var history = TextHistory(seed: seed, steps: 40)
      history.settle()
      for replica in history.replicas {
        #expect(replica.text.state == history.replicas[0].text.state, "seed \(seed)")
        #expect(replica.text.text == history.replicas[0].text.text, "seed \(seed)")
      }
      pairs += history.compareBursts()
      #expect(history.faults == [], "seed \(seed)")
    }
    #expect(pairs > 2500)
  }

  #if PlantedFaults
    /// Each rule of inserting, left out, mixes or moves something.
    @Test(arguments: [TextRuns.Fault.orderByTime, .extendOthersRun, .skipsDeleted])
    func rulesOfInsertingThatAreLeftOutAreNoticed(_ fault: TextRuns.Fault) {
      let noticed = (1...60 as ClosedRange<UInt64>).filter { seed in
        var history = TextHistory(seed: seed, steps: 40) { $0.fault = fault }
        history.settle()
        _ = history.compareBursts()
        let texts = history.replicas.map(\.text)
        return !history.faults.isEmpty || texts.contains { $0.state != texts[0].state || $0.text != texts[0].text }
      }
      #expect(noticed.count > 1)
    }
  #endif
}
