import TallyRig
import TallyStore
import TestEffort
import Testing

/// A seed or two of each tier, in the debug build, where that checks more. `make simulate` plays many more of them in a
/// release build.
@Suite struct ConvergenceTests {
  private static let counts: [SimulationTier: Int] = [.core: 10, .forged: 5, .counters: 2, .extrema: 2, .merge: 2]

  /// On a thread of its own: a live session needs the tasks' threads.
  @Test(arguments: SimulationTier.allCases) func nothingIsLostAndAllBecomeEqual(in tier: SimulationTier) async {
    for seed in Effort.seeds(Self.counts[tier, default: 1]) {
      guard let failure = await tier.reported(seed) else { continue }
      Issue.record("TALLY_SEED=\(seed) of \(tier.rawValue)\n\(failure)")
      return
    }
  }

  /// Two sessions that offer one part of a transfer; a launch that the store refuses; a rename of a record that a table
  /// of the app's refers to. Each was a fault of what plays the histories.
  @Test func historiesThatFailedOnceDoNot() async {
    let seeds: [(SimulationTier, UInt64)] = [
      (.world, 20_786_000_097), (.seeds, 20_786_000_175), (.rawsql, 20_786_000_157), (.rawsql, 5_000_009),
    ]
    for (tier, seed) in seeds {
      if let failure = await tier.reported(seed) { Issue.record("\(failure)") }
    }
  }

  /// Histories of values with other steps between theirs, which the first seeds do not have.
  @Test(arguments: [SimulationTier.counters, .extrema, .order, .unique, .merge])
  func nothingIsLostWhateverElseAnAppWrites(in tier: SimulationTier) async {
    // Files, refusals, and a group of many are among them.
    for seed in UInt64(33)...38 {
      guard let failure = await tier.reported(seed) else { continue }
      Issue.record("TALLY_SEED=\(seed) of \(tier.rawValue)\n\(failure)")
      return
    }
  }

  /// Without these, no history would have a file whose header names another one in the way that apps have it.
  @Test func inACrowdFilesNameOthers() throws {
    let found = try (1...UInt64(20)).reduce(0) { try $0 + CrowdHistory.relativeFiles($1) }
    #expect(found > 0)
  }

  @Test func aSeedChoosesWhatCaptures() {
    var captures = Set<Bool>()
    for seed in UInt64(1)...40 {
      var (one, other) = (StoreOptions(), StoreOptions())
      one.chooseCapture(by: seed)
      other.chooseCapture(by: seed)
      #expect(one.usesHook == other.usesHook)
      captures.insert(one.usesHook)
    }
    // Where triggers were asked for there are no others.
    #expect(captures == (StoreOptions().usesHook ? [false, true] : [false]))
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
