import TallyRig
import Testing

/// Histories of merged records that once failed.
@Suite struct MergeHistoryTests {
  /// A record that gave way and was inserted again; two merges of it of which the second has the slower clock; one that
  /// gave way to a record that was alive only through what it owned.
  @Test(arguments: [20_786_000_183, 20_786_001_413, 20_786_001_422, 20_786_002_445, 20_786_001_158] as [UInt64])
  func whatOnceFailedPasses(_ seed: UInt64) {
    if let failure = MergeHistory.failure(seed) { Issue.record("\(failure)") }
  }
}
