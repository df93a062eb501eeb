import TallyStore

/// Draws the purges and compactions of a random run, from random numbers of its own: a run in which no device removes
/// anything is what it was before there were removals.
struct RandomRemovals {
  var random: SplitMix64
  /// Values that are written once, each with the record that it was written to.
  var canaries: [String: String] = [:]

  /// Nil in every other run, in which nothing is removed.
  init?(seed: UInt64) {
    random = SplitMix64(seed: seed &* 0x9E37_79B9_7F4A_7C15 ^ 0xD6E8_FEB8_6659_FD93)
    guard random.chance(50) else { return nil }
  }

  /// When a device empties what is deleted.
  mutating func drawCompaction() -> Compaction {
    let window = RestoreWindow.days(random.pick([0, 1, 7, 30]))
    return switch random.below(5) {
    case 0: .off
    case 1: .manual(restoreWindow: window)
    default: .automatic(restoreWindow: window)
    }
  }

  mutating func canary(for name: String) -> String {
    let text = "canary \(canaries.count)."
    canaries[text] = name
    return text
  }
}
