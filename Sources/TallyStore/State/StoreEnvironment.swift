import Logging
import TallyCRDT

#if PlantedFaults
  import TallyFaults
#endif

/// The inputs that a store takes from outside: time, randomness, a logger and limits.
struct StoreEnvironment: Sendable {
  var now: @Sendable () -> HybridTime
  var mintReplica: @Sendable () -> ReplicaID
  var logger: Logger
  var conflictLimit: Int
  var conflictAge: UInt64?
  /// Whether SQLite's preupdate hook captures the writes of the store's own connection, where SQLite has it.
  var usesHook: Bool
  #if PlantedFaults
    private(set) var planted: PlantedFault = []
  #endif

  /// Entries of the conflict journal from before then go; nil to keep them at any age.
  func oldestConflict() -> HybridTime? {
    guard let conflictAge else { return nil }
    let now = now().milliseconds
    return HybridTime(milliseconds: now > conflictAge ? now - conflictAge : 0)
  }
}

#if PlantedFaults
  extension StoreEnvironment {
    /// The same with faults that tests put in.
    func planting(_ planted: PlantedFault) -> StoreEnvironment {
      var result = self
      result.planted = planted
      return result
    }
  }
#endif
