import TallyFaults
import TallyRig
import Testing

#if PlantedFaults
  /// The faults that random histories of lists that people order are for.
  @Suite struct OrderHistoryTests {
    @Test(arguments: ["moveIsTouch", "moveIsRemoveAdd", "fraction", "bareStay", "positionPurged"])
    func eachFaultIsNoticed(_ name: String) throws {
      let bug = try #require(PlantedBug.all.first { $0.name == name })
      let found = (1...UInt64(300)).first { OrderHistory.failure($0, planted: bug.fault) != nil }
      #expect(found == PlantedHints.seeds["\(name) order"])
    }
  }
#endif
