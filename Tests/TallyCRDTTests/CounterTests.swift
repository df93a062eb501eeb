import TallyCRDT
import TallyTesting
import Testing

/// Counters in the core: registers that add up.
@Suite struct CounterTests {
  private static let counter = FieldID(rawValue: 3)
  private static let other = FieldID(rawValue: 1)

  private static func total(_ replica: UInt64, of counter: FieldID = counter) -> FieldID {
    FieldID(rawValue: UInt32(10 * replica) + counter.rawValue, totalOf: counter.rawValue)
  }

  private static func stamp(_ replica: UInt64, _ sequence: UInt64, _ time: UInt64) -> Stamp {
    Stamp(
      time: HybridTime(milliseconds: time), dot: Dot(replica: ReplicaID(high: replica, low: 0), sequence: sequence))
  }

  @Test func totalsStandBehindAllOtherFieldsAndBesideThoseOfTheirCounter() {
    let fields = [
      Self.total(1), Self.total(2), Self.total(9, of: Self.other), FieldID(rawValue: .max),
      FieldID(rawValue: 7, isPresence: true), Self.counter,
    ]
    let sorted = fields.sorted()
    #expect(sorted.map(\.isTotal) == [false, false, false, true, true, true])
    #expect(sorted.suffix(3).map(\.counter) == [Self.other, Self.counter, Self.counter])
    #expect(sorted.suffix(3).allSatisfy { $0.isPresence })
    #expect(fields.map(\.rawValue) == [13, 23, 91, .max, 7, 3])
  }

  @Test func aNumberIsItsOffsetAndAllTotals() {
    var state = RecordState(inserted: Self.stamp(1, 1, 1), fields: [])
    #expect(state.count(of: Self.counter, from: 5, followsNewest: false) == 5)
    state.fields = [
      FieldCell(field: Self.total(9, of: Self.other), stamp: Self.stamp(9, 1, 1), value: .integer(1000)),
      FieldCell(field: Self.total(1), stamp: Self.stamp(1, 2, 2), value: .integer(.max)),
      FieldCell(field: Self.total(2), stamp: Self.stamp(2, 1, 2), value: .integer(.max)),
    ]
    #expect(state.added(to: Self.counter) == 2 * Int128(Int64.max))
    #expect(state.count(of: Self.counter, from: 5, followsNewest: false) == .max)
    #expect(state.offset(showing: 0, of: Self.counter) == nil)
    state.fields[2].value = .integer(-.max)
    #expect(state.count(of: Self.counter, from: 5, followsNewest: false) == 5)
    #expect(state.offset(showing: 12, of: Self.counter) == 12)
    #expect(state.count(of: Self.other, from: 0, followsNewest: false) == 1000)
  }

  /// A life drops offsets and keeps totals, and of two totals of one replica the later holds both, so neither has lost.
  @Test func totalsOutlastLivesAndNeverConflict() {
    var state = RecordState(
      inserted: Self.stamp(1, 1, 1),
      fields: [FieldCell(field: Self.counter, stamp: Self.stamp(1, 1, 1), value: .integer(7))])
    state.merge(RecordState(fields: [FieldCell(field: Self.total(1), stamp: Self.stamp(1, 2, 2), value: .integer(3))]))
    var lost: [LostWrite] = []
    state.merge(
      RecordState(fields: [FieldCell(field: Self.total(1), stamp: Self.stamp(1, 3, 3), value: .integer(4))]),
      lost: &lost)
    #expect(lost == [])
    #expect(state.count(of: Self.counter, from: 0, followsNewest: false) == 11)
    var purged = state
    let dot = Self.stamp(2, 1, 9).dot
    let context = StateVector([dot, Self.stamp(1, 1, 1).dot].map { ($0.replica, $0.sequence) })
    purged.begin(Life(time: HybridTime(milliseconds: 9), dot: dot, context: context))
    #expect(purged.count(of: Self.counter, from: 0, followsNewest: false) == 4)
    #expect(!purged.hasContent)
    #expect(state.merging(purged) == purged.merging(state))
  }

  private struct Act {
    var isSet: Bool
    var amount: Int64
    var time: UInt64
    var author: Int
    var seen: Set<Int>
  }

  /// Replicas add, set and hand over in random order. Each shows what the latest set that it has heard of asked for,
  /// and everything added that this set had not seen; and joins obey the laws.
  @Test(arguments: 1...60 as ClosedRange<UInt64>) func numbersAreWhatWasSetAndAddedSince(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var states = Array(repeating: RecordState(inserted: Self.stamp(1, 1, 1), fields: []), count: 3)
    var known: [Set<Int>] = [[], [], []]
    var acts: [Act] = []
    var sequences: [UInt64] = [1, 1, 1]
    for step in 0..<60 {
      let at = random.below(3)
      if random.chance(40) {
        let from = random.below(3)
        states[at].merge(states[from])
        known[at].formUnion(known[from])
      } else {
        let isSet = random.chance(30)
        let amount = Int64(random.below(100)) - 30
        sequences[at] += 1
        let field = isSet ? Self.counter : Self.total(UInt64(at))
        let over = states[at][field]
        let now = UInt64(10 + random.below(10) + step)
        let time = max(now, over.map { $0.stamp.time.milliseconds + 1 } ?? 0)
        let value: Int64
        if isSet {
          value = states[at].offset(showing: amount, of: Self.counter) ?? 0
        } else if case .integer(let old) = over?.value {
          value = old + amount
        } else {
          value = amount
        }
        states[at].merge(
          RecordState(fields: [
            FieldCell(field: field, stamp: Self.stamp(UInt64(at), sequences[at], time), value: .integer(value))
          ]))
        known[at].insert(acts.count)
        acts.append(Act(isSet: isSet, amount: amount, time: time, author: at, seen: known[at]))
      }
      for replica in 0..<3 {
        let heard = known[replica].map { acts[$0] }
        let set = heard.filter(\.isSet).max { ($0.time, $0.author) < ($1.time, $1.author) }
        let added = known[replica].filter { !acts[$0].isSet && !(set?.seen.contains($0) ?? false) }
        let expected = (set?.amount ?? 5) + added.reduce(0) { $0 + acts[$1].amount }
        #expect(states[replica].count(of: Self.counter, from: 5, followsNewest: false) == expected)
      }
    }
    let (a, b, c) = (states[0], states[1], states[2])
    #expect(a.merging(b) == b.merging(a))
    #expect(a.merging(b).merging(c) == a.merging(b.merging(c)))
    #expect(a.merging(b).merging(b) == a.merging(b))
    #expect(a.brokenInvariants == [])
  }
}
