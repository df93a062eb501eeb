#if Relay
  import Foundation
  import TallyRig
  import TallyTesting
  import TestEffort
  import Testing

  /// The simulated devices of the tier `relay`, with the relay's own file and answers in the place of
  /// the model.
  @Suite(.cleansUp, .timeLimit(.minutes(10))) struct RelayWorldTests {
    @Test func nothingIsLostInRandomWorlds() async throws {
      for seed in Effort.seeds(25) {
        let log = try await ServedRelayLog(in: try RelayFixture.newFolder())
        // A world blocks its thread while it waits for the relay.
        let failure = try await RawHTTP.onThread { Playground.failure(seed: seed, in: log)?.description }
        try log.close()
        guard let failure else { continue }
        Issue.record("\(failure)")
        return
      }
    }

    @Test(arguments: MailboxConformance.rules)
    func theRelayKeepsTheContractWithoutANetwork(_ rule: MailboxConformance.Rule) async throws {
      try await rule.check {
        PushedRelay(try await ServedRelayLog(in: try RelayFixture.newFolder())).mailbox(0)
      }
    }
  }
#endif
