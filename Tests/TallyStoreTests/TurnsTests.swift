import Testing

@testable import TallyStore

/// When a writer leaves the lock to others.
@Suite struct TurnsTests {
  private static let millisecond: UInt64 = 1_000_000
  private let turns = Turns()

  /// Writes without a pause of its own choice; returns the pauses that it had to leave, in milliseconds.
  private func write(_ number: Int, of length: UInt64, between pause: UInt64, from start: UInt64 = 1_000) -> [UInt64] {
    var now = start * Self.millisecond
    return (0..<number).map { _ in
      let rest = turns.rest(at: now)
      now += rest
      turns.begin(at: now)
      now += length * Self.millisecond
      turns.end(at: now)
      now += pause * Self.millisecond
      return rest / Self.millisecond
    }
  }

  @Test func whoWritesWithoutAPauseLeavesOneThatALookMeets() {
    // Two seconds of transactions of ten milliseconds: four pauses that are longer than the twenty of a look.
    let pauses = write(200, of: 10, between: 0)
    #expect(pauses.filter { $0 > 20 }.count == 3)
    #expect(pauses.filter { $0 > 0 }.count == 3)
    #expect(pauses.reduce(0, +) * 25 <= 2000)
  }

  @Test func oneLongTransactionIsFollowedByAPause() { #expect(write(2, of: 3000, between: 0) == [0, 21]) }

  @Test func whoWritesNowAndThenNeverWaits() {
    #expect(write(200, of: 10, between: 21).allSatisfy { $0 == 0 })
    #expect(write(20, of: 600, between: 21, from: 100_000).allSatisfy { $0 == 0 })
  }

  @Test func whoHadToWaitLeavesAPauseThatDoublesAndHalves() {
    var now: UInt64 = 1_000 * Self.millisecond
    func next(waiting: Bool) -> UInt64 {
      now += turns.rest(at: now)
      if waiting { turns.waited() }
      turns.begin(at: now)
      turns.end(at: now)
      return turns.rest(at: now)
    }
    #expect((250_000...750_000).contains(next(waiting: true)))
    #expect((500_000...1_500_000).contains(next(waiting: true)))
    for _ in 0..<20 { #expect(next(waiting: true) <= 75_000_000) }
    for _ in 0..<20 { _ = next(waiting: false) }
    #expect(turns.rest(at: now) == 0)
  }
}
