import TallyCRDT
import Testing

@Suite struct ValueTests {
  /// Ascending.
  static let values: [Value] = [
    .null, .integer(.min), .integer(-1), .integer(0), .integer(1), .integer(.max), Value(real: 0), Value(real: 1),
    .text(""), .text("a"), .text("ab"), .text("b"), .text("e\u{301}"), .text("\u{E9}"), .blob([]), .blob([0]),
    .blob([0, 0]), .blob([1]),
  ]

  @Test func textIsComparedByBytesAndNotByUnicodeEquivalence() {
    #expect("\u{E9}" == "e\u{301}")
    #expect(Value.text("\u{E9}") != Value.text("e\u{301}"))
    #expect(Set([Value.text("\u{E9}"), .text("e\u{301}")]).count == 2)
  }

  @Test func integersAndRealsDiffer() {
    #expect(Value.integer(1) != Value(real: 1))
    #expect(Value.text("1") != .integer(1) && Value.blob([0x31]) != .text("1"))
  }

  @Test func realsAreNeverNaNOrNegativeZero() {
    #expect(Value(real: .nan) == .null)
    #expect(Value(real: -0.0) == Value(real: 0.0))
    #expect(Value(real: -.infinity) == .real(-.infinity))
  }

  @Test func orderIsTotal() {
    for (i, first) in Self.values.enumerated() {
      for (j, second) in Self.values.enumerated() {
        #expect((first < second) == (i < j), "\(first) and \(second)")
        #expect((first == second) == (i == j), "\(first) and \(second)")
      }
    }
  }

  @Test func byteCountsAreThoseOfTheEncodedContent() {
    #expect(Value.text("é").byteCount == 2)
    #expect(Value.blob([1, 2, 3]).byteCount == 3)
    #expect(Value.integer(1).byteCount == 8 && Value.null.byteCount == 0)
    #expect(Value(text: nil).isNull && Value(text: "a") == .text("a"))
  }
}

@Suite struct StampTests {
  private func stamp(_ rank: UInt8, _ time: UInt64, _ high: UInt64, _ low: UInt64, _ sequence: UInt64) -> Stamp {
    Stamp(
      rank: Rank(rawValue: rank), time: HybridTime(milliseconds: time),
      dot: Dot(replica: ReplicaID(high: high, low: low), sequence: sequence))
  }

  @Test func stampsOrderByRankThenTimeThenReplicaThenSequence() {
    let ascending = [
      stamp(0, 9, 9, 9, 9), stamp(1, 1, 9, 9, 9), stamp(1, 2, 1, 9, 9), stamp(1, 2, 2, 1, 9), stamp(1, 2, 2, 2, 1),
      stamp(1, 2, 2, 2, 2), stamp(2, 0, 0, 0, 1), stamp(255, 0, 0, 0, 1),
    ]
    for (i, first) in ascending.enumerated() {
      for (j, second) in ascending.enumerated() { #expect((first < second) == (i < j)) }
    }
  }

  @Test func replicasOrderAsTheirBytes() {
    #expect(ReplicaID(high: 1, low: .max) < ReplicaID(high: 2, low: 0))
    #expect(ReplicaID(high: 1 << 63, low: 0) > ReplicaID(high: 1, low: 0))
  }

  @Test func nextTimeIsNowUnlessTheCellIsLater() {
    func next(_ now: UInt64, _ over: UInt64?) -> UInt64 {
      HybridTime.next(now: HybridTime(milliseconds: now), over: over.map { HybridTime(milliseconds: $0) }).milliseconds
    }
    #expect(next(5, nil) == 5)
    #expect(next(5, 3) == 5)
    #expect(next(5, 5) == 6)
    #expect(next(5, 99) == 100)
    #expect(next(0, 0) == 1)
  }

  @Test func timesEndAtFortyEightBits() {
    #expect(HybridTime(milliseconds: .max).milliseconds == HybridTime.maximum)
    let last = HybridTime(milliseconds: HybridTime.maximum)
    #expect(HybridTime.next(now: last, over: last) == last)
  }
}

@Suite struct StateVectorTests {
  let a = ReplicaID(high: 1, low: 1)
  let b = ReplicaID(high: 2, low: 2)

  private func vector(_ first: UInt64, _ second: UInt64) -> StateVector { StateVector([(a, first), (b, second)]) }

  @Test func absentReplicasStandAtZero() {
    #expect(vector(0, 0) == StateVector())
    #expect(vector(0, 0).isEmpty && vector(3, 0).count == 1)
    var changed = vector(3, 0)
    changed[a] = 0
    #expect(changed == StateVector())
  }

  @Test func vectorCoversEverySequenceUpToItsEntry() {
    #expect(vector(3, 0).covers(Dot(replica: a, sequence: 3)))
    #expect(!vector(3, 0).covers(Dot(replica: a, sequence: 4)))
    #expect(!vector(3, 0).covers(Dot(replica: b, sequence: 1)))
  }

  @Test func orderIsPartial() {
    #expect(vector(1, 1).compare(to: vector(1, 1)) == .equal)
    #expect(vector(1, 0).compare(to: vector(1, 1)) == .before)
    #expect(vector(2, 1).compare(to: vector(1, 1)) == .after)
    #expect(vector(2, 0).compare(to: vector(1, 1)) == .concurrent)
  }

  @Test func beyondLeavesOutWhatTheFloorCovers() {
    #expect(vector(3, 2).beyond(vector(3, 1)) == vector(0, 2))
    #expect(vector(3, 2).beyond(StateVector()) == vector(3, 2))
  }

  @Test func descriptionReadsBack() {
    for sample in [vector(0, 0), vector(3, 0), vector(3, .max)] { #expect(StateVector(sample.description) == sample) }
    for text in ["a:1", "\(a)", "\(a):0", "\(a):1,", ",", "\(a):1,\(a):2", "\(a):1:2", "\(a):-1", "\(a):x"] {
      #expect(StateVector(text) == nil, "\(text)")
    }
  }

  @Test func replicaReadsThirtyTwoDigits() {
    #expect(ReplicaID(a.description) == a)
    #expect(ReplicaID("00000000000000AB00000000000000cd") == ReplicaID(high: 0xAB, low: 0xCD))
    for text in ["", "0", String(repeating: "0", count: 33), String(repeating: "g", count: 32)] {
      #expect(ReplicaID(text) == nil)
    }
  }
}
