#if Relay
  import Foundation
  import TallyRelay
  @testable import TallyRelayServer
  import TallySync
  import Testing

  /// Clocks that are wrong for a while.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct ClockTests {
    @Test func aClockIsTrustedOnceItHasGoneEvenly() {
      var trust = ClockTrust(after: .seconds(3_600))
      #expect(!trust.isTrusted(at: .zero))
      #expect(trust.look(wall: 1_000, time: .zero) == 0)
      #expect(trust.look(wall: 4_630, time: .seconds(3_600)) == 0)
      #expect(trust.isTrusted(at: .seconds(3_600)))
      #expect(trust.look(wall: 4_640 + 86_400, time: .seconds(3_610)) == 86_400)
      #expect(!trust.isTrusted(at: .seconds(3_610)))
      #expect(trust.look(wall: 4_650 + 86_400, time: .seconds(3_620)) == 0)
      #expect(trust.look(wall: 4_660, time: .seconds(3_630)) == -86_400)
      #expect(!trust.isTrusted(at: .seconds(7_229)) && trust.isTrusted(at: .seconds(7_230)))
      // Without a time to wait it is believed at once.
      var ready = ClockTrust(after: .zero)
      _ = ready.look(wall: 5, time: .seconds(1))
      #expect(ready.look(wall: 500, time: .seconds(2)) == 494 && ready.isTrusted(at: .seconds(2)))
    }

    /// A deleted space can be restored after the clock was years ahead for a while, and years behind.
    @Test(arguments: StorageKind.available) func aClockThatJumpsRemovesNothing(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) {
        $0.keep = .seconds(86_400)
        $0.limits.sweepPause = .milliseconds(20)
      } _: { relay in
        let (token, start) = (try await relay.token(), relay.now)
        _ = try await relay.mailbox(token).put(MailboxUpload(name: "a", bytes: [1]))
        let number = try #require(try await relay.store.bearer(token.token)).space
        _ = try await relay.store.put(piece: [1], at: 0, of: 2, "upload", in: number, after: nil)
        try await relay.store.deleteSpace(token.space)
        let years: Int64 = 10 * 365 * 86_400
        // The first look has nothing to compare with.
        try await Task.sleep(for: .milliseconds(500))
        for (index, jump) in [years, -years, years, 0].enumerated() {
          relay.now = start + jump
          while relay.log.count(where: { $0.contains("the clock was set by") }) <= index {
            try await Task.sleep(for: .milliseconds(10))
          }
          // More looks at that time.
          try await Task.sleep(for: .milliseconds(200))
        }
        try await relay.store.restoreSpace(token.space)
        #expect(try await relay.mailbox(token).status().entries == 1)
        #expect(try await relay.store.upload("upload", in: number).received == 1)
        // Puts have gone on in between, and go on.
        _ = try await relay.mailbox(token).put(MailboxUpload(name: "b", bytes: [2]))
      }
    }
  }
#endif
