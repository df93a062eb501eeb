#if Relay
  import Tally
  import TallyRelay
  import TallyTesting
  import Testing

  /// A relay keeps the contract of `Mailbox`, over real connections.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct RelayConformanceTests {
    @Test(arguments: MailboxConformance.rules, StorageKind.available)
    func aRelayKeepsTheContract(_ rule: MailboxConformance.Rule, _ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        try await rule.check(within: .seconds(120)) { try relay.mailbox(try await relay.token()) }
      }
    }

    @Test(arguments: StorageKind.available) func twoStoresSyncThroughARelay(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let mailbox = try relay.mailbox(try await relay.token())
        let (one, other) = (try Scores.store("one"), try Scores.store("other"))
        for _ in 0..<2 { for store in [one, other] { try await store.sync(through: mailbox) } }
        #expect(try Scores.dump(one) == Scores.dump(other))
        #expect(try Scores.names(one) == ["one", "other"])
        let third = try await one.sync(through: mailbox)
        #expect(third.taken.isEmpty && third.written.isEmpty && third.bytesRead == 0)
        let status = try await mailbox.status()
        #expect(status.entries == 2 && status.role == "writer" && status.quota == nil)
      }
    }
  }
#endif
