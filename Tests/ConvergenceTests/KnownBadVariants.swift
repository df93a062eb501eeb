import TallyCRDT
import TallyTesting
import Testing

/// Each fault that would lose or split somebody's data is found by the same checks that the product passes.
@Suite struct KnownBadVariants {
  static let faults: [(name: String, fault: PlantedFault)] = [
    ("vectorPerChunk", .vectorPerChunk),
    ("touchesOfLiveCellsOnly", .touchesOfLiveCellsOnly),
    ("concurrentDeletesMerged", .concurrentDeletesMerged),
    ("tombstoneDropsCells", .tombstoneDropsCells),
    ("receiverClampsStamps", .receiverClampsStamps),
    ("timestampedSet", .timestampedSet),
    ("vectorOutsideSnapshot", .vectorOutsideSnapshot),
    ("equalStampKeepsLocal", .equalStampKeepsLocal),
  ]
  /// Faults of default data, which only histories with seeds can show.
  static let seedFaults: [(name: String, fault: PlantedFault)] = [
    ("seedUpgradeIsTouch", .seedUpgradeIsTouch),
    ("seedCellsAreOrdinary", .seedCellsAreOrdinary),
  ]
  /// How many seeds a fault may hide from.
  static let patience: UInt64 = 2_000

  @Test(arguments: faults.map(\.name))
  func plantedFaultIsFound(name: String) throws {
    let fault = try #require(Self.faults.first { $0.name == name }?.fault)
    let forges = fault == .equalStampKeepsLocal
    let found = (1...Self.patience).first { seed in
      Simulation.failure(of: .generate(seed: seed, forges: forges), planted: fault) != nil
    }
    let seed = try #require(found, "\(name) was not noticed in \(Self.patience) histories")
    print("\(name): noticed after \(seed) histories")
    for seed in 1...seed {
      let failure = Simulation.failure(of: .generate(seed: seed, forges: forges))
      #expect(failure == nil, "TALLY_SEED=\(seed) fails without a fault")
    }
  }

  @Test(arguments: seedFaults.map(\.name))
  func plantedFaultOfSeedsIsFound(name: String) throws {
    let fault = try #require(Self.seedFaults.first { $0.name == name }?.fault)
    let found = (1...SeedConvergenceTests.count).first { seed in
      SeedSimulation.failure(of: .generate(seed: seed), planted: fault) != nil
    }
    let seed = try #require(found, "\(name) was not noticed in \(SeedConvergenceTests.count) histories")
    print("\(name): noticed after \(seed) histories")
  }
}
