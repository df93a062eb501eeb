import TallyTesting
import Testing

@testable import TallyCRDT

/// What the rest of a record needs of a text: that it is a set of registers, for lives and repairs.
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

  // MARK: Rules of a state

  @Test func aStateThatIsNoneIsTold() {
    let dot = Dot(replica: ReplicaID(high: 1, low: 0), sequence: 1)
    let other = Dot(replica: ReplicaID(high: 2, low: 0), sequence: 1)
    let (id, later) = (TextRunID(dot: dot, number: 1), TextRunID(dot: dot, number: 2))
    let root = TextRun.Origin(stamp: nil)
    let a = TextStretch(first: 0, characters: ["a", "b"], written: TextDots(dot))
    let gone = TextStretch(first: 1, count: 1, written: nil, deleted: TextDots(dot))
    var needless = a
    needless.written?.via = dot
    let bare = TextStretch(first: 0, count: 2, written: TextDots(dot), buffer: ["a"], from: 0)
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
}
