import TallyFaults
import TallyRig
import TestEffort
import Testing

/// Random histories of lists that people order, and the faults that they are for.
@Suite struct OrderHistoryTests {
  @Test(arguments: 0..<4) func noHistoryBreaksALaw(_ part: Int) {
    for seed in UInt64(part * 4 + 1)...UInt64(part * 4 + 4) {
      guard let failure = OrderHistory.failure(seed) else { continue }
      Issue.record("TALLY_SEED=\(seed) of order\n\(failure)")
      return
    }
  }

  #if PlantedFaults
    @Test(arguments: ["moveIsTouch", "moveIsRemoveAdd", "fraction", "bareStay", "positionPurged"])
    func eachFaultIsNoticed(_ name: String) throws {
      let bug = try #require(PlantedBug.all.first { $0.name == name })
      let found = (1...UInt64(300)).first { OrderHistory.failure($0, planted: bug.fault) != nil }
      #expect(found == PlantedHints.seeds["\(name) order"])
    }
  #endif
}
