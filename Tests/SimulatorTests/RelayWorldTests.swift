import TallyRig
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
}
