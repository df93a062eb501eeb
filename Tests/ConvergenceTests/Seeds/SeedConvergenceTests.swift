import Foundation
import TallyCRDT
import TallyRig
import TallyTesting
import Testing

/// Generated histories of stores with default data: versions, edits, adoption, in any order.
@Suite struct SeedConvergenceTests {
  /// Fewer than the model's, each costs a hundred times as much; all if `TALLY_CASES` says how many.
  static let count: UInt64 = 40
  private var seeds: [UInt64] {
    ProcessInfo.processInfo.environment["TALLY_CASES"] == nil ? Array(Seeds.all.prefix(Int(Self.count))) : Seeds.all
  }

  @Test func everyPromiseOfSeedsHoldsInEveryHistory() {
    for seed in seeds {
      let story = SeedStory.generate(seed: seed)
      guard SeedSimulation.failure(of: story) != nil else { continue }
      Issue.record("\(Self.report(story))")
      return
    }
  }

  /// What to print about a failure: the seed that replays it, and the smallest history that shows it.
  static func report(_ story: SeedStory) -> String {
    var smallest = story
    smallest.steps = Shrinker.minimize(story.steps) { steps in
      var candidate = story
      candidate.steps = steps
      return SeedSimulation.failure(of: candidate) != nil
    }
    let failure = SeedSimulation.failure(of: smallest)
    return "TALLY_SEED=\(story.seed)\n\(smallest)\n\(failure?.description ?? "passes when shrunk")"
  }

  @Test func generatedHistoriesReachEverySituationOfSeeds() throws {
    var missing = Set(SeedSituation.allCases)
    for seed in UInt64(1)...150 where !missing.isEmpty {
      missing.subtract(try SeedSimulation.situations(of: .generate(seed: seed)))
    }
    #expect(missing.isEmpty, "never happened")
  }
}
