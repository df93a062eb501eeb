import TallyRig
import Testing

/// Some histories of merged records, each with other devices, merges and deletes.
@Suite struct MergeHistoryTests {
  @Test(arguments: 20_786_000_000..<20_786_000_005 as Range<UInt64>)
  func nothingIsLost(_ seed: UInt64) {
    if let failure = MergeHistory.failure(seed) { Issue.record("\(failure)") }
  }
}
