import TallyRig
import Testing

/// Random histories of files beside stores.
@Suite struct AssetHistoryTests {
  @Test(arguments: 0..<4) func noHistoryLosesAFile(_ part: Int) {
    for seed in UInt64(part * 2 + 1)...UInt64(part * 2 + 2) {
      guard let failure = AssetHistory.failure(seed) else { continue }
      Issue.record("TALLY_SEED=\(seed) of assets\n\(failure)")
      return
    }
  }
}
