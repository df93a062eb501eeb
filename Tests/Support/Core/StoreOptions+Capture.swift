import TallyStore
import TallyTesting

extension StoreOptions {
  /// Lets a seed choose what captures, SQLite's hook or triggers: so histories try both without being played twice. It
  /// draws from random numbers of its own, and the history of the seed is the same either way.
  package mutating func chooseCapture(by seed: UInt64, device: Int = 0) {
    var random = SplitMix64(seed: (seed &* 8) &+ UInt64(device) ^ 0x6361_7074_7572_65)
    // Where triggers are asked for, they capture everywhere.
    usesHook = usesHook && random.chance(50)
  }
}
