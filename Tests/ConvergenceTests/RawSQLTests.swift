import TallyRig
import TestEffort
import Testing

/// Generated histories of raw SQL: what apps, shells and triggers may do to a file, between and during syncs.
@Suite struct RawSQLTests {
  @Test(.enabled(if: Effort.isLong, "a long test")) func generatedHistoriesReachEverySituation() async {
    let (failed, counts) = await RawPlay.played(Array(1...150), .environment)
    #expect(failed == nil, "TALLY_SEED=\(failed ?? 0) of rawsql")
    for situation in RawSituation.all(of: RawChoice.environment.allowed) {
      #expect(counts[situation, default: 0] > 0, "\(situation) never happened")
    }
  }

  @Test func aSeedIsTheSameHistoryEachTime() {
    let first = RawHistory.generate(seed: 7, choice: RawChoice("all"))
    let second = RawHistory.generate(seed: 7, choice: RawChoice("all"))
    #expect(first.description == second.description)
    #expect(first.description.contains("INSERT"))
  }

  @Test func aFailureIsShownByTheSmallestHistory() {
    let history = RawHistory.generate(seed: 7, choice: RawChoice("outside"))
    let smallest = RawHistory.shrink(history) { $0.description.contains("DELETE FROM") }
    let statements = smallest.description.split(separator: "\n").filter { $0.hasSuffix(";") }
    #expect(statements.count == 1 && statements[0].contains("DELETE FROM"))
  }

  @Test func featuresAreSwitchedByName() {
    let all = Set(RawFeature.allCases)
    #expect(RawChoice("renames, live").allowed == [.renames, .live])
    #expect(RawChoice("").allowed == all)
    #expect(RawChoice("all,-live").allowed == all.subtracting([.live]))
    #expect(RawChoice("outside,+live") == RawChoice(allowed: [.outside], required: [.live]))
    #expect(RawHistory.generate(seed: 1, choice: RawChoice("outside,+rebuild")).features.contains(.rebuild))
  }
}
