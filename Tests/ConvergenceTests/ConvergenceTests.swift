import Foundation
import TallyCRDT
import TallyFaults
import TallyRig
import TallyTesting
import Testing

/// The seeds of a run: `TALLY_SEED` replays one, `TALLY_CASES` says how many.
enum Seeds {
  static var all: [UInt64] {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["TALLY_SEED"].flatMap(UInt64.init) { return [seed] }
    return Array(1...(environment["TALLY_CASES"].flatMap(UInt64.init) ?? 600))
  }

  /// What to print about a failure: the seed that replays it, and the smallest history that shows it.
  static func report(_ history: History, planted: PlantedFault = []) -> String {
    let smallest = Shrinker.shrink(history) { Simulation.failure(of: $0, planted: planted) != nil }
    let failure = Simulation.failure(of: smallest, planted: planted)
    return "TALLY_SEED=\(history.seed)\n\(smallest)\n\(failure?.description ?? "passes when shrunk")"
  }
}

@Suite struct ConvergenceTests {
  @Test func everyReplicaShowsWhatItsHistorySaysAndAllBecomeEqual() {
    for seed in Seeds.all {
      let history = History.generate(seed: seed)
      guard Simulation.failure(of: history) != nil else { continue }
      Issue.record("\(Seeds.report(history))")
      return
    }
  }

  @Test func equalStampsWithDifferentValuesConverge() {
    for seed in Seeds.all.prefix(100) {
      let history = History.generate(seed: seed, forges: true)
      guard Simulation.failure(of: history) != nil else { continue }
      Issue.record("\(Seeds.report(history))")
      return
    }
  }

  @Test func generatedHistoriesReachEverySituation() throws {
    var counts: [Situation: Int] = [:]
    var refusals = 0
    for seed in UInt64(1)...300 {
      let (found, didRefuse) = try Simulation.situations(of: .generate(seed: seed))
      for situation in found { counts[situation, default: 0] += 1 }
      refusals += didRefuse ? 1 : 0
    }
    for situation in Situation.allCases {
      #expect(counts[situation, default: 0] > 0, "\(situation) never happened")
    }
    #expect(refusals > 0, "no delta was ever refused")
  }
}
