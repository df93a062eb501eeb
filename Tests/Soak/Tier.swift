import ArgumentParser
import TallyCRDT
import TallyTesting

/// What is simulated.
enum Tier: String, CaseIterable, ExpressibleByArgument {
  /// The pure core and the wire, in memory.
  case core
  /// The core's histories on stores.
  case store
  /// Stores with default data.
  case seeds
  /// Whole devices: stores, sessions, mailboxes, disks.
  case world

  /// What one seed finds; nil if all is well.
  func failure(_ seed: UInt64, planted: PlantedFault = []) -> String? {
    switch self {
    case .core:
      // Every twentieth history has values that changed under their stamps.
      Simulation.failure(of: .generate(seed: seed, forges: seed % 20 == 0), planted: planted)?.description
    case .store: StoreSimulation.failure(of: .generate(seed: seed), planted: planted)?.description
    case .seeds: SeedSimulation.failure(of: .generate(seed: seed), planted: planted)?.description
    case .world: Playground.failure(seed: seed, planted: planted)?.description
    }
  }
}
