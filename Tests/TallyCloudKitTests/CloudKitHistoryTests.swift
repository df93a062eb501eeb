import TallyRig
import TestEffort
import Testing

/// Random histories of devices that meet in iCloud alone. `TALLY_SEED=7` plays one again.
@Suite struct CloudKitHistoryTests {
  /// Held to the specification: what each device must show follows from what it has seen.
  @Test(arguments: Effort.seeds(6)) func devicesConvergeThroughICloud(_ seed: UInt64) {
    if let failure = CloudSimulation.worldFailure(seed) { Issue.record("\(failure)") }
  }

  /// Passes end with iCloud's errors, quotas, people who sign in and out, and zones that are deleted. Histories without
  /// errors would show little: each kind that a device can meet in passing is met.
  @Test func errorsTakeNothingWithThem() async throws {
    var met: Set<String> = []
    for seed in Effort.seeds(6) {
      var history = try CloudHistory(seed: seed)
      do { try await history.run(steps: 80) } catch {
        Issue.record("TALLY_SEED=\(seed): \(error)\n\(history.trace.joined(separator: "\n"))")
      }
      met.formUnion(history.errors.keys.map(\.rawValue))
    }
    guard Effort.seed == nil else { return }
    #expect(met.count >= 6, "\(met)")
  }

  /// One seed, one history, so that a failure can be played again.
  @Test func aSeedReplays() async throws {
    var traces: [[String]] = []
    for _ in 0..<2 {
      var history = try CloudHistory(seed: 11)
      try await history.run(steps: 80)
      traces.append(history.trace)
    }
    #expect(traces[0] == traces[1])
  }
}
