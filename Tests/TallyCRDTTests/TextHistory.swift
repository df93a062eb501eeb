import TallyCRDT
import TallyTesting

/// Replicas that type, delete, change several places at once, say what they know again, take in strings from
/// elsewhere, and pull from one another; drawn from one seed. Whatever travels, travels as bytes.
struct TextHistory {
  struct Replica {
    let id: ReplicaID
    var vector: StateVector
    var text = MergeableText(TextState())
    var runs: TextRuns

    mutating func stamp() -> Stamp {
      let dot = Dot(replica: id, sequence: vector[id] + 1)
      vector.include(dot)
      return Stamp(time: HybridTime(milliseconds: 1000 + dot.sequence), dot: dot)
    }
  }

  /// What was typed at one place, forwards or backwards, over several transactions.
  struct Burst {
    var replica: ReplicaID
    var elements: [TextElement]
    /// What the typist had seen, and the transactions of it.
    var seen: StateVector
    var first: UInt64
  }

  /// What stood elsewhere: three strings of a virtual replica, known to all from the beginning.
  static let bases = ["abc", "", "defgh"].enumerated().map {
    index, text -> (stamp: Stamp, characters: [Unicode.Scalar]) in
    let dot = Dot(replica: ReplicaID(high: 99, low: 0), sequence: UInt64(index) + 1)
    let stamp = Stamp(rank: .seed, time: HybridTime(milliseconds: dot.sequence), dot: dot)
    return (stamp, Array(text.unicodeScalars))
  }

  var random: SplitMix64
  var replicas: [Replica]
  var bursts: [Burst] = []
  /// The orders that a replica has seen; nothing may ever change places.
  var orders: [[TextElement]] = []
  /// What was wrong; nothing else should be in it.
  var faults: [String] = []
  /// Whether there is a fault in it, of which bytes may know no form.
  private let isFaulty: Bool

  /// The replicas after some steps. Calls `change` with the runs of each opening, to plant a fault in them.
  init(seed: UInt64, steps: Int = 30, _ change: ((inout TextRuns) -> Void)? = nil) {
    random = SplitMix64(seed: seed)
    isFaulty = change != nil
    var known = StateVector()
    for base in Self.bases { known.include(base.stamp.dot) }
    let count = 2 + random.below(3)
    replicas = []
    for index in 0..<count {
      var runs = TextRuns(using: &random)
      change?(&runs)
      replicas.append(
        Replica(id: ReplicaID(high: UInt64(index * 7 % 5), low: UInt64(index)), vector: known, runs: runs))
    }
    for _ in 0..<steps { step(change) }
  }

  private mutating func step(_ change: ((inout TextRuns) -> Void)?) {
    let index = random.below(replicas.count)
    switch random.below(20) {
    case 0..<7: burst(index)
    case 7..<10: save(index)
    case 10, 11: delete(index)
    case 12:
      replicas[index].runs = TextRuns(using: &random)
      change?(&replicas[index].runs)
    case 13: takeIn(index)
    case 14: sayAgain(index)
    default: pull(index, from: random.below(replicas.count))
    }
    orders.append(replicas[index].text.elements.map(\.element))
  }

  private mutating func characters(_ count: Int) -> [Unicode.Scalar] {
    (0..<count).compactMap { _ in Unicode.Scalar(0x4e00 + UInt32(random.below(20_000))) }
  }

  private mutating func burst(_ index: Int) {
    var replica = replicas[index]
    let (seen, isBackwards) = (replica.vector, random.chance(40))
    var (at, elements): (Int, [TextElement]) = (random.below(replica.text.count + 1), [])
    for _ in 0..<1 + random.below(3) {
      let typed = characters(random.pick([1, 1, 2, 4]))
      guard let edit = try? replica.text.insert(typed, at: at, by: replica.stamp(), in: &replica.runs) else {
        faults.append("an insertion is refused")
        return
      }
      let made = edit.runs.flatMap { run in
        run.stretches.flatMap { stretch in
          (stretch.first..<stretch.end).map { TextElement(run: run.id, offset: $0) }
        }
      }
      elements = isBackwards ? made + elements : elements + made
      if !isBackwards { at += typed.count }
    }
    bursts.append(Burst(replica: replica.id, elements: elements, seen: seen, first: seen[replica.id] + 1))
    replicas[index] = replica
  }

  /// One save of the whole string with several changes; sometimes of characters that are often the same.
  private mutating func save(_ index: Int) {
    let old = replicas[index].text.text
    var new = Array(old.unicodeScalars)
    for _ in 0..<1 + random.below(3) {
      let at = random.below(new.count + 1)
      let isPlain = random.chance(50)
      let inserted = isPlain ? Array("abab".unicodeScalars.prefix(random.below(4))) : characters(random.below(3))
      new.replaceSubrange(at..<min(at + random.below(3), new.count), with: inserted)
    }
    var replica = replicas[index]
    var text = String.UnicodeScalarView()
    text.append(contentsOf: new)
    let before = replica.text.state
    guard let edit = try? replica.text.save(String(text), from: old, by: replica.stamp(), in: &replica.runs) else {
      faults.append("a save is refused")
      return
    }
    if replica.text.text != String(text) { faults.append("a save makes another text") }
    if before.merging(edit) != replica.text.state { faults.append("an edit is not what was added") }
    replicas[index] = replica
  }

  private mutating func delete(_ index: Int) {
    let count = replicas[index].text.count
    guard count > 0 else { return }
    let start = random.below(count)
    let stamp = replicas[index].stamp()
    if (try? replicas[index].text.delete(start..<min(count, start + random.pick([1, 2, 5])), by: stamp)) == nil {
      faults.append("a deletion is refused")
    }
  }

  private mutating func takeIn(_ index: Int) {
    let base = random.pick(Self.bases.indices.map { $0 })
    let stamp = replicas[index].stamp()
    _ = replicas[index].text.takeIn(Self.bases[base].characters, of: Self.bases[base].stamp, by: stamp)
  }

  /// As a store does that begins a life in which all that it knows is said.
  private mutating func sayAgain(_ index: Int) {
    let dot = replicas[index].stamp().dot
    replicas[index].text.merge(replicas[index].text.state.travelling(by: dot))
  }

  mutating func pull(_ index: Int, from other: Int) {
    guard index != other else { return }
    let mine = replicas[index].vector
    let base = random.chance(70) ? mine : random.chance(50) ? StateVector() : lower(mine)
    let (state, vector) = (replicas[other].text.state, replicas[other].vector)
    if let delta = state.delta(since: base) {
      guard let travelled = isFaulty ? delta : Self.travelled(delta, vector) else {
        faults.append("a delta is refused")
        return
      }
      if travelled != delta { faults.append("a delta is another one after its travel") }
      replicas[index].text.merge(travelled)
    }
    replicas[index].vector.merge(vector)
  }

  private mutating func lower(_ vector: StateVector) -> StateVector {
    StateVector(vector.entries.map { ($0.replica, UInt64(random.below(Int($0.sequence) + 1))) })
  }

  static func travelled(_ delta: TextState, _ vector: StateVector) -> TextState? {
    let bytes = delta.encoded(replicas: vector.entries.map(\.replica))
    return try? TextState(bytes, limits: vector.entries)
  }

  /// All know what all have written.
  mutating func settle() {
    for _ in 0..<2 {
      for index in replicas.indices { for other in replicas.indices { pull(index, from: other) } }
    }
  }

  /// The number of pairs of bursts that had not seen each other; names in `faults` those that are mixed.
  mutating func compareBursts() -> Int {
    var places: [TextElement: Int] = [:]
    for (place, element) in replicas[0].text.elements.enumerated() { places[element.element] = place }
    let ranks = bursts.map { $0.elements.compactMap { places[$0] } }
    var pairs = 0
    for (index, burst) in bursts.enumerated() {
      if ranks[index].count != burst.elements.count { faults.append("burst \(index) is not all there") }
      if ranks[index] != ranks[index].sorted() { faults.append("burst \(index) is not in order") }
      for (other, earlier) in bursts[..<index].enumerated() where burst.replica != earlier.replica {
        if burst.seen[earlier.replica] >= earlier.first || earlier.seen[burst.replica] >= burst.first { continue }
        pairs += 1
        let (a, b) = (ranks[index], ranks[other])
        guard let low = a.min(), let high = a.max(), let least = b.min(), let most = b.max() else { continue }
        if high > least && most > low { faults.append("bursts \(other) and \(index) are mixed") }
      }
    }
    for order in orders {
      let ranks = order.compactMap { places[$0] }
      if ranks.count != order.count || ranks != ranks.sorted() { faults.append("elements have changed places") }
    }
    return pairs
  }
}
