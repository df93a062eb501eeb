#if Relay
  import Foundation
  import TallyRelay
  import TallyRelayServer
  import TallySync
  import TallyTesting
  import Testing

  /// Waiting for news over real connections.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct WaitTests {
    private func upload(_ name: String) -> MailboxUpload { MailboxUpload(name: name, bytes: [1]) }

    /// Returns when so many requests wait.
    private func untilWaiting(_ count: Int, _ relay: RelayFixture) async throws {
      for _ in 0..<5_000 {
        let metrics = try await RawHTTP.send("GET", "/metrics", port: relay.adminPort).text
        if metrics.contains("\ntally_relay_waiting \(count)\n") { return }
      }
      Issue.record("no \(count) requests wait")
    }

    @Test(arguments: [true, false], StorageKind.available)
    func aWaitEndsOnAnAppend(_ polls: Bool, _ kind: StorageKind)
      async throws
    {
      try await RelayFixture.run(kind) { relay in
        let mailbox = try relay.mailbox(try await relay.token()) { $0.usesLongPolling = polls }
        _ = try await mailbox.put(upload("a"))
        let cursor = try await mailbox.changes(after: nil).cursor
        let waiting = Task { try await mailbox.wait(after: cursor) }
        try await untilWaiting(1, relay)
        let put = ContinuousClock.now
        _ = try await mailbox.put(upload("b"))
        try await waiting.value
        // A poll of thirty seconds that was not woken would take longer.
        #expect(ContinuousClock.now - put < .seconds(10))
        #expect(try await mailbox.changes(after: cursor).items.map(\.name) == ["b"])
      }
    }

    /// What is put into another space wakes nobody, and whoever goes away is not waited for.
    @Test(arguments: [true, false], StorageKind.available)
    func aWaiterWhoGoesAwayIsForgotten(
      _ polls: Bool, _ kind: StorageKind
    ) async throws {
      try await RelayFixture.run(kind) { relay in
        let mailbox = try relay.mailbox(try await relay.token()) {
          $0.usesLongPolling = polls
          $0.linger = .zero
        }
        let other = try relay.mailbox(try await relay.token())
        let waiting = Task { try await mailbox.wait(after: nil) }
        try await untilWaiting(1, relay)
        _ = try await other.put(upload("a"))
        try await untilWaiting(1, relay)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        try await untilWaiting(0, relay)
      }
    }

    @Test func aLongPollEndsAtShutdown() async throws {
      let relay = try await RelayFixture.start { $0.limits.draining = .seconds(25) }
      let mailbox = try relay.mailbox(try await relay.token()) {
        $0.usesLongPolling = true
        $0.retries = 0
      }
      let waiting = Task { try await mailbox.wait(after: nil) }
      try await untilWaiting(1, relay)
      let start = ContinuousClock.now
      try await relay.stop()
      // Before the poll's thirty seconds, and not by force, which comes after twenty-five.
      #expect(ContinuousClock.now - start < .seconds(20))
      let error = await #expect(throws: RelayError.self) { try await waiting.value }
      #expect(error?.code == .busy && error?.problem == .busy && error?.retryAfter == .seconds(2))
    }

    /// A connection that says nothing is closed, but not under somebody who waits for news.
    @Test func whoSaysNothingIsLetGoAndWhoWaitsIsNot() async throws {
      try await RelayFixture.run {
        $0.limits.idle = .seconds(1)
      } _: { relay in
        let token = try await relay.token()
        let nothing = try await RawHTTP.exchange(
          Array("GET /v1/spaces/\(token.space) HTTP/1.1\r\nHost: a".utf8), port: relay.port)
        #expect(RawHTTP.Answer(nothing).status != 200)
        let late = try await RawHTTP.send(
          "GET", "/v1/spaces/\(token.space)/changes?wait=3", ["Authorization": "Bearer \(token.token)"],
          port: relay.port)
        #expect(late.status == 204 && late.body.isEmpty)
      }
    }

    @Test func aTokenWaitsInSoManyRequests() async throws {
      try await RelayFixture.run {
        $0.limits.waitingRequests = 2
      } _: { relay in
        let mailbox = try relay.mailbox(try await relay.token()) {
          $0.usesLongPolling = true
          $0.retries = 0
        }
        let waiting = (0..<2).map { _ in Task { try await mailbox.wait(after: nil) } }
        try await untilWaiting(2, relay)
        let error = await #expect(throws: RelayError.self) { try await mailbox.wait(after: nil) }
        #expect(error?.problem == .tooManyWaiting)
        for task in waiting { task.cancel() }
        try await untilWaiting(0, relay)
      }
    }
  }
#endif
