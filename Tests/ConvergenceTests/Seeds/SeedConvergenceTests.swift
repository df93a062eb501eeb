import TallyRig
import TestEffort
import Testing

/// Generated histories of stores with default data: versions, edits, adoption, in any order.
@Suite struct SeedConvergenceTests {
  @Test(.enabled(if: Effort.isLong, "a long test")) func generatedHistoriesReachEverySituationOfSeeds() throws {
    var missing = Set(SeedSituation.allCases)
    for seed in UInt64(1)...150 where !missing.isEmpty {
      missing.subtract(try SeedSimulation.situations(of: .generate(seed: seed)))
    }
    #expect(missing.isEmpty, "never happened")
  }
}
