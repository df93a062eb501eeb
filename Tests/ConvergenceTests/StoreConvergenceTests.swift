import Foundation
import TallyRig
import TallyTesting
import Testing

/// The generated histories, on stores with SQLite, triggers and the wire between them.
@Suite struct StoreConvergenceTests {
  /// Fewer than the model's, each costs a hundred times as much; all if `TALLY_CASES` says how many.
  private var seeds: [UInt64] {
    ProcessInfo.processInfo.environment["TALLY_CASES"] == nil ? Array(Seeds.all.prefix(60)) : Seeds.all
  }

  @Test func everyStoreShowsWhatItsHistorySaysAndAllBecomeEqual() {
    for seed in seeds {
      let history = History.generate(seed: seed)
      guard StoreSimulation.failure(of: history) != nil else { continue }
      let smallest = Shrinker.shrink(history) { StoreSimulation.failure(of: $0) != nil }
      let failure = StoreSimulation.failure(of: smallest)
      Issue.record("TALLY_SEED=\(history.seed)\n\(smallest)\n\(failure?.description ?? "passes when shrunk")")
      return
    }
  }

  @Test func copiesThatNobodyHasNoticedDoNotStayDifferent() {
    for seed in seeds {
      let history = History.generate(seed: seed)
      guard CopySimulation.failure(of: history) != nil else { continue }
      let smallest = Shrinker.shrink(history) { CopySimulation.failure(of: $0) != nil }
      let failure = CopySimulation.failure(of: smallest)
      Issue.record("TALLY_SEED=\(history.seed)\n\(smallest)\n\(failure?.description ?? "passes when shrunk")")
      return
    }
  }
}
