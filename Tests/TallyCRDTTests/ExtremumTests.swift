import TallyCRDT
import Testing

/// The join of registers that keep the greatest or the least value.
@Suite struct ExtremumTests {
  private static func replica(_ number: UInt64) -> ReplicaID { ReplicaID(high: number, low: number) }

  /// All writes of a few times, authors and values.
  private static func cells(_ extremum: Extremum) -> [FieldCell] {
    let values: [Value] = [.null, .integer(-3), .integer(4), .real(-2), .real(-1), .real(5)]
    var cells: [FieldCell] = []
    for (number, value) in values.enumerated() {
      for time in [0, 9] as [UInt64] {
        for author in [1, 2] as [UInt64] {
          let dot = Dot(replica: replica(author), sequence: UInt64(number + 1))
          let stamp = Stamp(time: HybridTime(milliseconds: time), dot: dot)
          cells.append(FieldCell(field: FieldID(rawValue: 3, keeping: extremum), stamp: stamp, value: value))
        }
      }
    }
    return cells
  }

  @Test(arguments: Extremum.allCases) func theJoinIsThatOfASemilattice(_ extremum: Extremum) {
    let states = Self.cells(extremum).map { RecordState(inserted: $0.stamp, fields: [$0]) }
    for one in states {
      #expect(one.merging(one) == one)
      for two in states {
        let both = one.merging(two)
        #expect(both == two.merging(one))
        #expect(both.merging(one) == both)
        for three in states.prefix(9) { #expect(both.merging(three) == one.merging(two.merging(three))) }
      }
    }
  }

  @Test func theGreaterValueOfOneTimeStaysAndTheLaterTimeWins() {
    for (extremum, kept) in [(Extremum.greatest, Value.real(5)), (.least, .integer(-3))] {
      let cells = Self.cells(extremum)
      for time in [0, 9] as [UInt64] {
        let states = cells.filter { $0.stamp.time.milliseconds <= time }.map {
          RecordState(inserted: $0.stamp, fields: [$0])
        }
        let all = states.reduce(RecordState()) { $0.merging($1) }
        #expect(all.fields.map(\.value) == [kept])
        #expect(all.fields.map(\.stamp.time.milliseconds) == [time])
      }
    }
  }

  /// A write that was raised further is no conflict, and stays as a touch.
  @Test func whatWasRaisedFurtherIsATouchAndNoConflict() {
    let field = FieldID(rawValue: 3, keeping: .greatest)
    func state(_ author: UInt64, _ value: Int64, time: UInt64 = 0) -> RecordState {
      let stamp = Stamp(
        time: HybridTime(milliseconds: time), dot: Dot(replica: Self.replica(author), sequence: 1))
      return RecordState(fields: [FieldCell(field: field, stamp: stamp, value: .integer(value))])
    }
    var (joined, lost) = (state(1, 20), [LostWrite]())
    joined.merge(state(2, 10), lost: &lost)
    #expect(joined.fields.map(\.value) == [.integer(20)] && lost.isEmpty)
    #expect(joined.touches.covers(Dot(replica: Self.replica(2), sequence: 1)))
    joined.merge(state(3, 1, time: 5), lost: &lost)
    #expect(joined.fields.map(\.value) == [.integer(1)] && lost.map(\.loser.value) == [.integer(20)])
  }

  @Test func fieldsSayWhatTheyKeep() {
    let (most, least) = (FieldID(rawValue: 1, keeping: .greatest), FieldID(rawValue: 0, keeping: .least))
    let total = FieldID(rawValue: 0, totalOf: 1 << 30 - 1)
    #expect([total, least, most, FieldID(rawValue: .max)].sorted() == [FieldID(rawValue: .max), most, least, total])
    #expect([most, least, total].map(\.extremum) == [.greatest, .least, nil])
    #expect([most, least, total].map(\.isTotal) == [false, false, true])
    #expect([most, least].allSatisfy { !$0.isPresence } && total.counter == FieldID(rawValue: 1 << 30 - 1))
  }
}
