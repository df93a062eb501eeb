import TallyCRDT
import TallyTesting

/// States that no edit makes but bytes can say: those of broken peers.
enum TextForgery {
  /// Anything that bytes can say of a few names: runs that hang at each other, two characters or two places of one
  /// name, deletions by all.
  static func state(_ random: inout SplitMix64) -> TextState {
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

  /// Runs that hang at each other in circles of every length from two on, with others that hang at them; one part for
  /// each, which is right alone.
  static func rings(_ random: inout SplitMix64) -> [TextState] {
    var parts: [TextState] = []
    var ids: [TextRunID] = []
    func add(_ id: TextRunID, at parent: TextRunID?) {
      let count = UInt32(1 + random.below(3))
      let side: TextRun.Side = random.chance(50) ? .left : .right
      var origin = TextRun.Origin(stamp: nil)
      if let parent { origin = .init(side, of: TextElement(run: parent, offset: UInt32(random.below(3)))) }
      let letters = (0..<count).compactMap { _ in Unicode.Scalar(UInt32(97 + random.below(26))) }
      var stretch = TextStretch(first: 0, characters: letters, written: TextDots(id.dot))
      if random.chance(20) {
        stretch = TextStretch(first: 0, count: count, written: TextDots(id.dot), deleted: TextDots(id.dot))
      }
      parts.append(TextState(latest: nil, runs: [TextRun(id: id, origin: origin, stretches: [stretch])]))
      ids.append(id)
    }
    func name() -> TextRunID {
      let dot = Dot(replica: ReplicaID(high: UInt64(random.below(3)), low: 0), sequence: UInt64(ids.count) + 1)
      return TextRunID(dot: dot, number: UInt64(random.below(5)) + 1)
    }
    for _ in 0..<1 + random.below(3) {
      let ring = (0..<2 + random.below(6)).map { index in
        TextRunID(
          dot: Dot(replica: ReplicaID(high: UInt64(random.below(3)), low: 0), sequence: UInt64(ids.count + index) + 1),
          number: UInt64(random.below(5)) + 1)
      }
      for (index, id) in ring.enumerated() { add(id, at: ring[(index + 1) % ring.count]) }
    }
    for _ in 0..<random.below(8) { add(name(), at: random.chance(20) ? nil : random.pick(ids)) }
    return parts
  }

  /// Whether runs hang at each other: of some, going on along the parents leads out of nothing.
  static func hasCircle(_ state: TextState) -> Bool {
    state.runs.contains { run in
      var next: TextRun? = run
      for _ in 0...state.runs.count { next = next?.origin?.parent.flatMap { state[$0.run] } }
      return next != nil
    }
  }
}
