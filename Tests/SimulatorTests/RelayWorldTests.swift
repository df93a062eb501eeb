import TallyRig
import TallyTesting
import Testing

/// Devices and a relay that tells them what is new: late, twice, never, from two instances, and set back.
@Suite struct RelayWorldTests {
  @Test func nothingIsLostInRandomRelays() {
    for seed in SimulationTier.seeds(1...60) {
      guard let failure = SimulationTier.relay.failure(seed) else { continue }
      Issue.record("\(failure)")
      return
    }
  }

  /// The model keeps the contract that the relay itself keeps, pushes included.
  @Test(.timeLimit(.minutes(5)), arguments: MailboxConformance.rules)
  func theModelKeepsTheContract(_ rule: MailboxConformance.Rule) async throws {
    try await rule.check { PushedRelay(MemoryRelayLog()).mailbox(0) }
  }
}
