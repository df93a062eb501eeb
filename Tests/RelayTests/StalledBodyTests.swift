#if Relay
  import Foundation
  import Synchronization
  @testable import TallyRelayServer
  import TallyRelayProtocol
  import TallyWire
  import Testing

  /// Bodies whose end does not come: they take up room for a bounded time, and others find some meanwhile.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct StalledBodyTests {
    private func limits() -> RelaySettings.Limits {
      var limits = RelaySettings.Limits()
      (limits.slowBody, limits.slowestBytesPerSecond, limits.longestWrite) = (.seconds(10), 1_000, .seconds(60))
      return limits
    }

    /// What has come fast is a credit against a pause, of a minute at most.
    @Test func aFastBeginningIsNoCreditForAnHour() {
      let now = Mutex(Duration.zero)
      let pace = BodyPace(limits()) { now.withLock { $0 } }
      func isTooSlow(at seconds: Int) -> Bool {
        now.withLock { $0 = .seconds(seconds) }
        return pace.isTooSlow
      }
      #expect(!isTooSlow(at: 10))
      pace.note(4_000_000)
      #expect(!isTooSlow(at: 70) && isTooSlow(at: 71))
      // As long as a thousand bytes come in each second, it goes on.
      for second in 65..<200 {
        now.withLock { $0 = .seconds(second) }
        pace.note(1_000)
        #expect(!pace.isTooSlow, "\(second)")
      }
      // A byte now and then is none of that.
      for second in stride(from: 200, to: 280, by: 20) {
        now.withLock { $0 = .seconds(second) }
        pace.note(1)
      }
      #expect(pace.isTooSlow)
      pace.end()
      #expect(!pace.isTooSlow)
    }

    @Test func slowButSteadyIsFastEnough() {
      let now = Mutex(Duration.zero)
      let pace = BodyPace(limits()) { now.withLock { $0 } }
      for second in 1..<300 {
        now.withLock { $0 = .seconds(second) }
        #expect(!pace.isTooSlow, "\(second)")
        pace.note(1_000)
      }
      #expect(!pace.isTooSlow)
    }

    @Test func aBodyThatStallsIsGivenUp() async throws {
      try await RelayFixture.run {
        ($0.limits.slowBody, $0.limits.longestWrite) = (.seconds(1), .seconds(1))
      } _: { relay in
        let token = try await relay.token()
        let sent = [UInt8](repeating: 7, count: 500_000)
        let head = """
          PUT /v1/spaces/\(token.space)/entries/a HTTP/1.1\r
          Host: a\r
          Authorization: Bearer \(token.token)\r
          Content-Digest: \(RelayDigest.field(SHA256.hash(sent)))\r
          Content-Length: 500001\r
          \r

          """
        // Until the relay closes; without that, reading fails after a minute.
        let answer = try await RawHTTP.exchange(Array(head.utf8) + sent, port: relay.port)
        #expect(answer.isEmpty || RawHTTP.Answer(answer).status == 400)
        #expect(try await relay.mailbox(token).status().entries == 0)
      }
    }

    /// Tokens that take all they can get leave room for one more.
    @Test func aDozenGreedyTokensLeaveRoomForAnother() throws {
      let budget = ByteBudget(256, parts: 4)
      var rooms: [ByteBudget.Room] = []
      for token in 1...12 {
        while let room = try? budget.room(for: 4, of: [UInt8(token)]) { rooms.append(room) }
      }
      #expect(try budget.room(for: 4, of: [100]).bytes == 4)
      #expect(budget.usage.bytes == rooms.count * 4)
      // The first had its part.
      rooms = []
      #expect(budget.usage == (0, 0))
      while let room = try? budget.room(for: 4, of: [1]) { rooms.append(room) }
      #expect(rooms.count == 16)
    }
  }
#endif
