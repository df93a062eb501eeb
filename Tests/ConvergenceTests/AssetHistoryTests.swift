import TallyFaults
import TallyRig
import TestEffort
import Testing

/// Random histories of files beside stores, and the faults that they are for.
@Suite struct AssetHistoryTests {
  @Test(arguments: 0..<4) func noHistoryLosesAFile(_ part: Int) {
    for seed in UInt64(part * 4 + 1)...UInt64(part * 4 + 4) {
      guard let failure = AssetHistory.failure(seed) else { continue }
      Issue.record("TALLY_SEED=\(seed) of assets\n\(failure)")
      return
    }
  }

  #if PlantedFaults
    @Test(arguments: ["hashUnchecked", "onlyCopyEvicted"])
    func eachFaultIsNoticed(_ name: String) throws {
      let bug = try #require(PlantedBug.all.first { $0.name == name })
      let found = (1...UInt64(40)).first { AssetHistory.failure($0, planted: bug.fault) != nil }
      #expect(found == PlantedHints.seeds["\(name) assets"])
    }
  #endif
}
