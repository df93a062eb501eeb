import ArgumentParser
import Foundation
import TallyRig

extension SimulationTier: ExpressibleByArgument {}

/// Plays seeds for as long as it is given, and prints how many.
@main struct Soak: ParsableCommand {
  @Option(help: "What to simulate: core, forged, store, seeds, world, relay, rawsql or damage. All in turn without it.")
  var tier: [SimulationTier] = SimulationTier.allCases
  @Option(help: "How many seconds in all; the tiers share them.")
  var seconds: Double = 60
  @Option(help: "How many seeds of each tier at most.")
  var count: UInt64 = .max
  @Option(help: "The first seed.")
  var first: UInt64 = 1
  @Flag(
    help:
      "Instead, puts in each fault and prints how many seeds it takes to notice it: Scripts/planted.sh makes a table of it."
  )
  var planted = false
  @Option(help: "Of the faults only these.")
  var fault: [String] = []

  func run() throws {
    if planted { return try printPlanted() }
    if let seed = ProcessInfo.processInfo.environment["TALLY_SEED"].flatMap(UInt64.init) {
      for tier in tier { print("\(tier.rawValue) \(seed): \(tier.report(seed) ?? "passes")") }
      return
    }
    var failures = 0
    for tier in tier { failures += play(tier, for: .seconds(seconds / Double(self.tier.count))) }
    if failures > 0 { throw ExitCode.failure }
  }

  private func play(_ tier: SimulationTier, for duration: Duration) -> Int {
    let start = ContinuousClock.now
    var (played, failures): (UInt64, Int) = (0, 0)
    var lastReport = start
    while played < count, ContinuousClock.now - start < duration, failures < 10 {
      let seed = first + played
      if let failure = tier.failure(seed) {
        failures += 1
        print("TALLY_SEED=\(seed) of \(tier.rawValue)\n\(failure)")
        fflush(nil)
      }
      played += 1
      if ContinuousClock.now - lastReport > .seconds(60) {
        report(tier, played, failures, start)
        lastReport = .now
      }
    }
    report(tier, played, failures, start)
    return failures
  }

  private func report(_ tier: SimulationTier, _ played: UInt64, _ failures: Int, _ start: ContinuousClock.Instant) {
    let seconds = Double((ContinuousClock.now - start) / .milliseconds(1)) / 1000
    print(
      "\(tier.rawValue): seeds \(first) to \(first + max(1, played) - 1), \(played) played, \(failures) failed, "
        + "\(String(format: "%.1f", Double(played) / max(0.001, seconds))) a second")
    fflush(nil)
  }

  private func printPlanted() throws {
    var missed = 0
    for bug in PlantedBug.all where fault.isEmpty || fault.contains(bug.name) {
      for tier in bug.tiers where self.tier.contains(tier) {
        let needed = bug.seedsNeeded(tier)
        if needed == nil { missed += 1 }
        print("\(bug.name) \(tier.rawValue) \(needed.map(String.init) ?? "never")")
        fflush(nil)
      }
    }
    if missed > 0 { throw ExitCode.failure }
  }
}
