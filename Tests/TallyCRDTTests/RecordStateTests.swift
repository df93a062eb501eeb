import TallyCRDT
import TallyTesting
import Testing

@Suite struct RecordStateTests {
  let here = ReplicaID(high: 1, low: 0)
  let there = ReplicaID(high: 2, low: 0)

  private func stamp(_ replica: ReplicaID, _ sequence: UInt64, _ time: UInt64, rank: Rank = .user) -> Stamp {
    Stamp(rank: rank, time: HybridTime(milliseconds: time), dot: Dot(replica: replica, sequence: sequence))
  }

  private func vector(_ entries: [(ReplicaID, UInt64)]) -> StateVector { StateVector(entries) }

  private func cell(_ stamp: Stamp, _ number: Int64 = 0) -> FieldCell {
    FieldCell(field: FieldID(rawValue: 1), stamp: stamp, value: .integer(number))
  }

  private func state(_ cell: FieldCell) -> RecordState {
    var state = RecordState()
    state.fields = [cell]
    return state
  }

  @Test func equalValuesAdoptTheWinningStamp() {
    let first = state(cell(stamp(here, 1, 5), 7))
    let second = state(cell(stamp(there, 1, 6), 7))
    #expect(first.merging(second).fields == second.fields)
    #expect(second.merging(first).fields == second.fields)
  }

  @Test func writeThatLostIsStillATouch() {
    let joined = state(cell(stamp(here, 1, 5))).merging(state(cell(stamp(there, 1, 6))))
    #expect(joined.supersededTouches == vector([(here, 1)]))
    #expect(joined.touches == vector([(here, 1), (there, 1)]))
    let delta = joined.delta(since: vector([(there, 1)]))
    #expect(delta?.touches.covers(Dot(replica: here, sequence: 1)) == true)
  }

  @Test func touchThatALaterCellImpliesIsNotKeptTwice() {
    var joined = state(cell(stamp(here, 1, 5))).merging(state(cell(stamp(there, 1, 6))))
    joined.merge(state(cell(stamp(here, 2, 7))))
    #expect(joined.supersededTouches == vector([(there, 1)]))
  }

  @Test func seedCellsAreNoTouchesAndLoseToEveryUserCell() {
    let seed = state(cell(stamp(here, 9, 99, rank: .seed), 1))
    let user = state(cell(stamp(there, 1, 0), 2))
    #expect(seed.touches.isEmpty)
    #expect(seed.merging(user).fields.map(\.value) == [.integer(2)])
    #expect(seed.merging(user) == user)
  }

  @Test func concurrentDeletesAreAllKept() {
    var states: [RecordState] = []
    for replica in [here, there] {
      var state = RecordState()
      state.deletes = [Delete(stamp: stamp(replica, 1, 0), context: vector([(replica, 1)]))]
      states.append(state)
    }
    #expect(states[0].merging(states[1]).deletes == states[0].deletes + states[1].deletes)
  }

  @Test func deleteThatAnotherHasSeenGoes() {
    var first = RecordState()
    first.deletes = [Delete(stamp: stamp(here, 1, 0), context: vector([(here, 1)]))]
    var second = RecordState()
    let context = vector([(here, 1), (there, 4)])
    second.deletes = [Delete(stamp: stamp(there, 4, 0), context: context)]
    #expect(first.merging(second) == second)
    #expect(second.merging(first) == second)
  }

  /// Of many deletes those that another has seen are found otherwise than of few.
  @Test(arguments: 1...20 as ClosedRange<UInt64>) func ofManyDeletesThoseThatNoOtherHasSeenStay(seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    let replicas = (1...12).map { ReplicaID(high: UInt64($0), low: 0) }
    let deletes = (0..<Int.random(in: 9...24, using: &generator)).map { number in
      let own = Dot(
        replica: replicas[number % 12], sequence: UInt64(1 + number / 12 + 2 * Int.random(in: 0...2, using: &generator))
      )
      var context = StateVector([(own.replica, own.sequence)])
      for replica in replicas where replica != own.replica && Int.random(in: 0...9, using: &generator) == 0 {
        context.include(Dot(replica: replica, sequence: UInt64.random(in: 1...5, using: &generator)))
      }
      return Delete(stamp: stamp(own.replica, own.sequence, UInt64(number)), context: context)
    }
    var unique: [Dot: Delete] = [:]
    for delete in deletes where unique[delete.stamp.dot] == nil { unique[delete.stamp.dot] = delete }
    let all = unique.values.sorted { $0.stamp.dot < $1.stamp.dot }
    let expected = all.filter { delete in
      !all.contains { $0.stamp.dot != delete.stamp.dot && $0.context.covers(delete.stamp.dot) }
    }
    var (one, other) = (RecordState(), RecordState())
    (one.deletes, other.deletes) = (Array(all.prefix(1)), Array(all.dropFirst()))
    #expect(all.count > 8 && !expected.isEmpty)
    #expect(one.merging(other).deletes == expected)
  }

  /// Only a broken peer makes such deletes. Without any delete left the record would be one that nobody deleted.
  @Test func ofDeletesThatClaimToHaveSeenEachOtherTheLatestStays() {
    let everybody = [here, there, ReplicaID(high: 3, low: 0)]
    let context = vector(everybody.map { ($0, 1) })
    let states = everybody.enumerated().map { number, replica in
      var state = RecordState()
      state.deletes = [Delete(stamp: stamp(replica, 1, UInt64(number)), context: context)]
      return state
    }
    for (a, b) in [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)] {
      #expect(states[a].merging(states[b]) == states[max(a, b)])
    }
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
      #expect(order.reduce(into: RecordState()) { $0.merge(states[$1]) } == states[2])
    }
  }

  @Test func deletedRecordKeepsItsCells() {
    let inserted = RecordState(inserted: stamp(here, 1, 0), fields: [cell(stamp(here, 1, 0), 5)])
    var deletion = RecordState()
    deletion.deletes = [Delete(stamp: stamp(here, 2, 1), context: vector([(here, 2)]))]
    let deleted = inserted.merging(deletion)
    #expect(deleted.fields == inserted.fields && deleted.existence == inserted.existence)
  }

  @Test func uniformStampIsThatOfAnInsertAndNothingMore() {
    let insert = stamp(here, 1, 0)
    let inserted = RecordState(inserted: insert, fields: [cell(insert, 5)])
    #expect(inserted.uniformStamp == insert)
    #expect(inserted.merging(state(cell(stamp(here, 2, 1)))).uniformStamp == nil)
    #expect(state(cell(insert)).uniformStamp == nil)
  }
}
