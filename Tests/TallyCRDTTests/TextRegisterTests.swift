import TallyTesting
import Testing

@testable import TallyCRDT

/// What the rest of a record needs of a text: that it is a set of registers, for lives, repairs and fingerprints, and
/// also where peers are broken.
@Suite struct TextRegisterTests {
  // MARK: Lives

  /// A purge has begun a life that knew some of a text. Who has the rest lifts it: the registers that the life's author
  /// had not seen, under another dot to travel by. They stand in their order, and a deletion stays one.
  @Test func whatALifeHadNotSeenIsLiftedInItsOrder() throws {
    var lifted = 0
    for seed in 1...80 as ClosedRange<UInt64> {
      var history = TextHistory(seed: seed)
      let (author, holder) = (history.replicas[0], history.replicas[1])
      guard let unseen = holder.text.state.delta(since: author.vector) else { continue }
      let dot = history.replicas[1].stamp().dot
      let lift = unseen.travelling(by: dot)
      let kept = MergeableText(lift)
      let old = holder.text.elements.map(\.element)
      var rank: [TextElement: Int] = [:]
      for (place, element) in old.enumerated() { rank[element] = place }
      // Of one run, and of runs that hang at each other, the order is as it was.
      for run in lift.runs {
        let own = kept.elements.map(\.element).filter { $0.run == run.id }.compactMap { rank[$0] }
        #expect(own == own.sorted(), "seed \(seed)")
      }
      let shown = Set(kept.elements.filter(\.isShown).map(\.element))
      let before = Set(holder.text.elements.filter(\.isShown).map(\.element))
      let written = Set(kept.elements.map(\.element))
      if lift.shownBase == holder.text.state.shownBase {
        #expect(shown == before.intersection(written), "seed \(seed)")
      }
      // It travels whole to all who had everything before, whatever they know of the registers themselves.
      #expect(lift.delta(since: holder.vector) == lift, "seed \(seed)")
      var after = holder.vector
      after.include(dot)
      #expect(lift.delta(since: after) == nil, "seed \(seed)")
      #expect(lift.brokenInvariants == [], "seed \(seed)")
      lifted += written.count
    }
    #expect(lifted > 300)
  }

  @Test func ofTwoWaysToTravelTheGreaterStays() {
    for seed in 1...60 as ClosedRange<UInt64> {
      let state = TextHistory(seed: seed).replicas[0].text.state
      let replica = ReplicaID(high: 50, low: 0)
      let ways = (1...2 as ClosedRange<UInt64>).map { state.travelling(by: Dot(replica: replica, sequence: $0)) }
      #expect(ways[0].merging(ways[1]) == ways[1] && ways[1].merging(ways[0]) == ways[1], "seed \(seed)")
      // A way that is less than the own dot does not count beside it.
      let low = state.travelling(by: Dot(replica: ReplicaID(high: 0, low: 0), sequence: 1))
      #expect(low.merging(state) == state.merging(low), "seed \(seed)")
      #expect(low.merging(ways[1]) == ways[1], "seed \(seed)")
    }
  }

  // MARK: Fingerprints

  @Test func statesThatDifferHaveOtherFingerprints() {
    var seen: [Fingerprint: TextState] = [:]
    for seed in 1...60 as ClosedRange<UInt64> {
      for replica in TextHistory(seed: seed).replicas {
        let state = replica.text.state
        for other in [state, state.travelling(by: Dot(replica: replica.id, sequence: 1 << 40))] {
          let fingerprint = other.fingerprint(name: 1, field: 2)
          #expect(seen[fingerprint].map { $0 == other } ?? true, "seed \(seed)")
          seen[fingerprint] = other
        }
        guard !state.isEmpty else { continue }
        #expect(state.fingerprint(name: 1, field: 2) != state.fingerprint(name: 2, field: 2))
        #expect(state.fingerprint(name: 1, field: 2) != state.fingerprint(name: 1, field: 3))
      }
    }
    #expect(seen.count > 200)
  }

  /// An edit changes the fingerprint by what it has touched and what is beside it.
  @Test func anEditChangesTheFingerprintByItsSurroundings() throws {
    for seed in 1...60 as ClosedRange<UInt64> {
      var replica = TextHistory(seed: seed).replicas[0]
      var random = SplitMix64(seed: seed)
      var sum = replica.text.state.fingerprint(name: 1, field: 2)
      for _ in 0..<30 {
        let before = replica.text.state
        let stamp = replica.stamp()
        let edit: TextState
        if replica.text.count > 0, random.chance(40) {
          let start = random.below(replica.text.count)
          edit = try replica.text.delete(start..<min(replica.text.count, start + 1 + random.below(3)), by: stamp)
        } else {
          let place = random.below(replica.text.count + 1)
          let typed = [Unicode.Scalar](repeating: "x", count: 1 + random.below(2))
          edit = try replica.text.insert(typed, at: place, by: stamp, in: &replica.runs)
        }
        sum += replica.text.state.fingerprint(replacing: before, by: edit, name: 1, field: 2)
        #expect(sum == replica.text.state.fingerprint(name: 1, field: 2), "seed \(seed)")
      }
    }
  }

  /// What is hashed, and how, is the same on all devices: a change of it must show.
  @Test func aFingerprintIsWhatItWas() {
    let dots = (1...3 as ClosedRange<UInt64>).map { Dot(replica: ReplicaID(high: 1, low: 2), sequence: $0) }
    let stamp = Stamp(time: HybridTime(milliseconds: 1000), dot: dots[0])
    var state = TextState(inserted: stamp, Array("añ".unicodeScalars))
    #expect(state.fingerprint(name: 1, field: 2).description == Self.inserted)
    let deletion = TextStretch(first: 0, count: 1, written: nil, deleted: TextDots(dots[1]))
    let later = Stamp(time: HybridTime(milliseconds: 1001), dot: dots[1])
    state.merge(TextState(latest: later, runs: [TextRun(id: state.runs[0].id, origin: nil, stretches: [deletion])]))
    let id = TextRunID(dot: dots[2], number: 65_536)
    let parent = TextElement(run: state.runs[0].id, offset: 1)
    let typed = TextStretch(first: 0, characters: ["!"], written: TextDots(dots[2]))
    state.merge(TextState(latest: nil, runs: [TextRun(id: id, origin: .init(.right, of: parent), stretches: [typed])]))
    #expect(state.fingerprint(name: 1, field: 2).description == Self.edited)
  }

  private static let inserted = "3e7de548391a22ee1385e0bed4197515"
  private static let edited = "5850c6c17c28fcd56373fd13c6561492"

  // MARK: Broken peers

  @Test func aStateThatIsNoneIsTold() {
    let dot = Dot(replica: ReplicaID(high: 1, low: 0), sequence: 1)
    let other = Dot(replica: ReplicaID(high: 2, low: 0), sequence: 1)
    let (id, later) = (TextRunID(dot: dot, number: 1), TextRunID(dot: dot, number: 2))
    let root = TextRun.Origin(stamp: nil)
    let a = TextStretch(first: 0, characters: ["a", "b"], written: TextDots(dot))
    let gone = TextStretch(first: 1, count: 1, written: nil, deleted: TextDots(dot))
    var needless = a
    needless.written?.via = dot
    var bare = a
    bare.characters = []
    var stepping = a
    stepping.written?.step = -1
    var foreign = a
    foreign.written?.replica = other.replica
    func run(_ id: TextRunID, _ origin: TextRun.Origin?, _ stretches: TextStretch...) -> TextRun {
      TextRun(id: id, origin: origin, stretches: stretches)
    }
    let stamp = Stamp(time: HybridTime(milliseconds: 1), dot: dot)
    let broken: [([TextRun], String)] = [
      ([run(later, root, a), run(id, root, a)], "runs ascend by name"),
      ([run(id, root)], "something is known of a run"),
      ([run(id, root, a, gone)], "stretches ascend and do not overlap"),
      ([run(id, nil, a)], "a run hangs somewhere if an element was written"),
      ([run(id, root, gone)], "a run hangs somewhere if an element was written"),
      ([run(id, .init(.left, of: TextElement(run: id, offset: 4)), a)], "no run hangs at itself"),
      ([run(id, .init(stamp: stamp), a)], "only an insert and a base have a stamp, that of their run"),
      ([run(id, root, needless)], "nothing travels by its own dot and says so"),
      ([run(id, root, bare)], "elements that are there have characters"),
      ([run(id, root, stepping)], "steps are in range"),
      ([run(id, root, foreign)], "one replica writes a run"),
      ([run(id, nil, TextStretch(first: 0, count: 0, written: nil, deleted: TextDots(dot)))], "a stretch has elements"),
    ]
    for (runs, rule) in broken {
      let rules = TextState(latest: nil, runs: runs).brokenInvariants
      #expect(rules.contains(rule), "\(rules)")
    }
    #expect(TextState(latest: stamp, runs: [run(id, root, a), run(later, nil, gone)]).brokenInvariants == [])
  }

  /// Anything that bytes can say of a few names: runs that hang at each other, two characters or two places of one
  /// name, deletions by all.
  private func forged(_ random: inout SplitMix64) -> TextState {
    let ids = (0..<4).map { index -> TextRunID in
      let dot = Dot(replica: ReplicaID(high: UInt64(index / 2), low: 0), sequence: 1)
      return TextRunID(dot: dot, number: [0, 7, TextRunID.base, 9][index])
    }
    var state = TextState()
    for _ in 0..<1 + random.below(8) {
      let id = random.pick(ids)
      let first = UInt32(random.below(4))
      let count = UInt32(1 + random.below(3))
      var written = TextDots(Dot(replica: id.dot.replica, sequence: 1 + UInt64(random.below(4))))
      if count > 1 { written.step = Int8(random.below(2)) }
      func via() -> Dot { Dot(replica: ReplicaID(high: 8, low: 0), sequence: 1 + UInt64(random.below(3))) }
      if random.chance(30) { written.via = via() }
      var deleted = TextDots(Dot(replica: random.pick(ids).dot.replica, sequence: 3 + UInt64(random.below(3))))
      if count > 1 { deleted.step = Int8(random.below(3)) - 1 }
      if random.chance(30) { deleted.via = via() }
      let parent = TextElement(run: random.pick(ids.filter { $0 != id }), offset: UInt32(random.below(7)))
      var origin = TextRun.Origin(random.chance(50) ? .left : .right, of: parent)
      if random.chance(30) {
        let time = HybridTime(milliseconds: UInt64(random.below(3)))
        origin = .init(stamp: id.hasStamp ? Stamp(time: time, dot: id.dot) : nil)
      }
      let letters = (0..<count).compactMap { _ in Unicode.Scalar(UInt32(97 + random.below(3))) }
      let stretch =
        random.chance(40)
        ? TextStretch(first: first, count: count, written: random.chance(50) ? written : nil, deleted: deleted)
        : TextStretch(first: first, characters: letters, written: written)
      state.merge(
        TextState(
          latest: nil, runs: [TextRun(id: id, origin: stretch.written == nil ? nil : origin, stretches: [stretch])]))
    }
    return state
  }

  @Test func joinsOfForgedStatesObeyTheLawsAndLoseNothing() throws {
    var circles = 0
    for seed in 1...1500 as ClosedRange<UInt64> {
      var random = SplitMix64(seed: seed)
      let (a, b, c) = (forged(&random), forged(&random), forged(&random))
      let both = a.merging(b)
      #expect(both == b.merging(a), "seed \(seed)")
      #expect(both.merging(c) == a.merging(b.merging(c)), "seed \(seed)")
      #expect(both.merging(a) == both && a.merging(a) == a, "seed \(seed)")
      #expect(both.brokenInvariants == [], "seed \(seed)")
      #expect(both.fingerprint(name: 1, field: 2) == b.merging(a).fingerprint(name: 1, field: 2), "seed \(seed)")
      let written = both.runs.flatMap { run in
        run.stretches.filter { $0.written != nil }.flatMap { stretch in
          (stretch.first..<stretch.end).map { TextElement(run: run.id, offset: $0) }
        }
      }
      let text = MergeableText(both)
      #expect(text.elements.map(\.element).sorted() == written.sorted(), "seed \(seed)")
      #expect(text.elements.map(\.element) == MergeableText(b.merging(a)).elements.map(\.element), "seed \(seed)")
      let replicas = both.replicas
      let limits = replicas.map { Dot(replica: $0, sequence: 20) }
      do throws(TextCodingError) {
        #expect(try TextState(both.encoded(replicas: replicas), limits: limits) == both, "seed \(seed)")
      } catch {
        #expect(error == .circle, "seed \(seed)")
        circles += 1
      }
      // It can be edited all the same.
      var edited = text
      var runs = TextRuns(salt: 5)
      let stamp = Stamp(time: HybridTime(milliseconds: 9), dot: Dot(replica: ReplicaID(high: 5, low: 0), sequence: 1))
      let (old, place) = (text.characters, random.below(text.count + 1))
      _ = try edited.insert(["!"], at: place, by: stamp, in: &runs)
      #expect(edited.characters == Array(old[..<place]) + ["!"] + Array(old[place...]), "seed \(seed)")
      #expect(edited.elements.map(\.element) == MergeableText(edited.state).elements.map(\.element), "seed \(seed)")
    }
    #expect(circles > 50)
  }
}
