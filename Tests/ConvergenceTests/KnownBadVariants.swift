import TallyCRDT
import TallyRig
import TallyTesting
import Testing

/// Each fault that would lose, double or split somebody's data is found by the same checks that the product passes.
///
/// `make planted` counts how many seeds each fault hides from, and writes the table of `Docs/Testing.md`. Here each
/// must be noticed from a seed on that is known to be near; if the generator changes, the search begins at the first
/// seed and may take longer.
@Suite struct KnownBadVariants {
  static let bugs = PlantedBug.all.flatMap { bug in bug.tiers.map { Case(bug: bug, tier: $0) } }

  struct Case: Sendable, CustomStringConvertible {
    var bug: PlantedBug
    var tier: SimulationTier
    var description: String { "\(bug.name), \(tier.rawValue)" }
  }

  @Test(arguments: bugs) func plantedFaultIsFound(_ it: Case) async {
    let hint = PlantedHints.seeds["\(it.bug.name) \(it.tier.rawValue)"] ?? 1
    if await it.tier.found(hint, planted: it.bug.fault) != nil {
      let sound = await it.tier.found(hint)
      #expect(sound == nil, "TALLY_SEED=\(hint) fails without a fault")
      return
    }
    let seed = await it.bug.seedsFound(it.tier)
    #expect(seed != nil, "\(it) was not noticed in \(PlantedBug.patience) seeds")
  }
}
