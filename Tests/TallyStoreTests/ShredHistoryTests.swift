import Foundation
import TallyRig
import Testing

/// Histories of `ShredHistory`: devices that empty what is deleted, beside devices that do not.
@Suite struct ShredHistoryTests {
  @Test(arguments: [false, true]) func whatIsEmptiedShowsAsWithoutEmptying(deleteWins: Bool) {
    let environment = ProcessInfo.processInfo.environment
    let count = environment["TALLY_CASES"].flatMap(UInt64.init) ?? 30
    let seeds = environment["TALLY_SEED"].flatMap(UInt64.init).map { $0...$0 } ?? 1...count
    for seed in seeds {
      guard let failure = ShredHistory.failure(seed, deleteWins: deleteWins) else { continue }
      Issue.record("\(failure)")
      return
    }
  }
}
