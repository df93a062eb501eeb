#if Relay
  import Foundation
  import TallyRelay
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import TallySync
  import TallyWire
  import Testing

  /// Deleted spaces: hidden at once, brought back, or removed.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct DeletionTests {
    private func ask(
      _ method: String, _ space: String, _ token: RelayStore.NewToken, _ relay: RelayFixture, _ path: String = "",
      _ body: [UInt8] = []
    ) async throws -> RawHTTP.Answer {
      var fields = ["Authorization": "Bearer \(token.token)"]
      if !body.isEmpty { fields["Content-Digest"] = RelayDigest.field(SHA256.hash(body)) }
      if method == "PATCH" { (fields["Upload-Offset"], fields["Upload-Length"]) = ("0", "\(body.count)") }
      return try await RawHTTP.send(method, "/v1/spaces/\(space)\(path)", fields, body, port: relay.port)
    }

    /// Returns when so many requests wait.
    private func untilWaiting(_ count: Int, _ relay: RelayFixture) async throws {
      for _ in 0..<5_000 {
        let metrics = try await RawHTTP.send("GET", "/metrics", port: relay.adminPort).text
        if metrics.contains("\ntally_relay_waiting \(count)\n") { return }
      }
      Issue.record("no \(count) requests wait")
    }

    private static let unknown = String(repeating: "0", count: 32)

    /// Whatever is asked, by whichever token, the answer is that for a space that never was.
    @Test(arguments: StorageKind.available) func aDeletedSpaceIsHiddenAtOnce(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let writer = try await relay.token()
        let space = writer.space
        let (reader, admin) = (try await relay.token(space, .reader), try await relay.token(space, .admin))
        let stranger = try await relay.token(nil, .admin)
        _ = try await relay.mailbox(writer).put(MailboxUpload(name: "there", bytes: [1, 2, 3]))
        let number = try #require(try await relay.store.bearer(writer.token)).space
        #expect(try await ask("DELETE", space, stranger, relay).problem == "noSuchSpace")
        for token in [reader, writer] { #expect(try await ask("DELETE", space, token, relay).problem == "forbidden") }
        #expect(try await ask("GET", space, writer, relay).status == 200)

        let deleted = try await ask("DELETE", space, admin, relay)
        #expect(deleted.status == 204 && deleted.body.isEmpty)
        let asks: [(String, String, [UInt8])] = [
          ("GET", "", []), ("DELETE", "", []), ("POST", "", []), ("GET", "/changes", []), ("GET", "/events", []),
          ("GET", "/changes?wait=60", []), ("GET", "/entries/there", []), ("GET", "/entries/missing", []),
          ("PUT", "/entries/there", [1, 2, 3]), ("PUT", "/entries/new", [1]), ("DELETE", "/entries/there", []),
          ("HEAD", "/uploads/there", []), ("PATCH", "/uploads/new", [1]), ("GET", "/nothing", []),
        ]
        for token in [reader, writer, admin, stranger] {
          for (method, path, body) in asks {
            let gone = try await ask(method, space, token, relay, path, body)
            let never = try await ask(method, Self.unknown, token, relay, path, body)
            #expect(gone == never && gone.problem == "noSuchSpace", "\(method) \(path): \(gone)")
          }
        }
        // The other space is as it was, and a write that was under way comes too late.
        #expect(try await ask("GET", stranger.space, stranger, relay).status == 200)
        let late = await #expect(throws: RelayProblem.self) {
          try await relay.store.put("there", [1, 2, 3], in: number, after: nil)
        }
        #expect(late?.code == .noSuchSpace)
        await #expect(throws: RelayProblem.self) { try await relay.store.remove("there", in: number) }
        await #expect(throws: RelayProblem.self) {
          try await relay.store.put(piece: [1], at: 0, of: 2, "new", in: number, after: nil)
        }
        await #expect(throws: RelayStoreError.self) { try await relay.token(space) }
      }
    }

    /// A revoked token is told that it is revoked, also when its space is gone: what it is told says nothing of spaces.
    @Test func aRevokedTokenLearnsNothing() async throws {
      try await RelayFixture.run { relay in
        let token = try await relay.token()
        try await relay.store.revoke(token.id)
        let before = try await ask("GET", token.space, token, relay)
        try await relay.store.deleteSpace(token.space)
        #expect(try await ask("GET", token.space, token, relay) == before && before.problem == "tokenRevoked")
      }
    }

    /// A large entry that is just being read ends where it is.
    @Test(arguments: StorageKind.available) func aDownloadEnds(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let token = try await relay.token()
        let number = try #require(try await relay.store.bearer(token.token)).space
        _ = try await relay.store.put("large", Array(repeating: 7, count: 600_000), in: number, after: nil)
        #expect(try await relay.store.bytes(of: "large", in: number, at: 1, from: 0).count == RelayStore.chunkBytes)
        try await relay.store.deleteSpace(token.space)
        await #expect(throws: RelayProblem.self) {
          try await relay.store.bytes(of: "large", in: number, at: 1, from: RelayStore.chunkBytes)
        }
      }
    }

    // MARK: Requests that wait

    /// Opens a long poll and a stream of events on one relay, lets the body delete the space, and says how both end.
    private func expectEnds(
      _ token: RelayStore.NewToken, _ relay: RelayFixture, _ delete: () async throws -> Void
    ) async throws {
      async let poll = ask("GET", token.space, token, relay, "/changes?wait=60")
      async let stream = ask("GET", token.space, token, relay, "/events")
      try await untilWaiting(2, relay)
      let start = ContinuousClock.now
      try await delete()
      let (polled, streamed) = (try await poll, try await stream)
      // The poll's time and the stream's heartbeat are longer.
      #expect(ContinuousClock.now - start < .seconds(15))
      let never = try await ask("GET", Self.unknown, token, relay, "/changes?wait=60")
      #expect(polled == never)
      #expect(polled.problem == "noSuchSpace")
      // In order, by an empty chunk, and with nothing but the first comment.
      #expect(streamed.status == 200 && streamed.text == "3\r\n:\n\n\r\n0\r\n\r\n", "\(streamed.text)")
    }

    /// A relay that looks for deleted spaces as often as said, and that nothing else wakes.
    private func relay(_ place: StoragePlace, looking pause: Duration) async throws -> RelayFixture {
      try await RelayFixture.start(in: place) {
        $0.limits.sweepPause = pause
      } open: { place, state in
        #if Postgres
          if let database = place.database {
            var settings = PostgresRelayStore.Settings()
            settings.comparison = .seconds(3_600)
            settings.time = { state.now }
            return try await PostgresRelayStore(database, for: .serving, settings)
          }
        #endif
        return try await place.open(.serving, time: { state.now })
      }
    }

    @Test(arguments: StorageKind.available) func whoWaitsIsTold(_ kind: StorageKind) async throws {
      let relay = try await relay(try await StoragePlace(kind), looking: .seconds(3_600))
      let admin = try await relay.token(nil, .admin)
      try await expectEnds(admin, relay) {
        let answer = try await ask("DELETE", admin.space, admin, relay)
        #expect(answer.status == 204)
      }
      try await relay.stop()
    }

    /// Nobody notifies: the relay looks, long before the stream's heartbeat or the end of the poll.
    @Test(arguments: StorageKind.available) func whoWaitsIsToldOfWhatTheToolDeletes(_ kind: StorageKind) async throws {
      let relay = try await relay(try await StoragePlace(kind), looking: .milliseconds(100))
      let token = try await relay.token()
      let beside = try await relay.place.open(.administration, time: { relay.now })
      try await expectEnds(token, relay) { try await beside.deleteSpace(token.space) }
      try beside.close()
      try await relay.stop()
    }

    #if Postgres
      /// Neither instance looks during the test: what wakes is the notification.
      @Test(.enabled(if: PostgresCluster.isAvailable, "no PostgreSQL server is installed (Debian: postgresql)"))
      func whoWaitsOnAnotherInstanceIsTold() async throws {
        let place = try await StoragePlace(.postgres)
        let (one, other) = (
          try await relay(place, looking: .seconds(3_600)), try await relay(place, looking: .seconds(3_600))
        )
        let admin = try await one.token(nil, .admin)
        // Listening begins a moment after the start: an entry that comes through says that it has begun.
        let mailbox = try other.mailbox(admin) { $0.usesLongPolling = true }
        let waiting = Task { try await mailbox.wait(after: nil) }
        try await untilWaiting(1, other)
        _ = try await one.mailbox(admin).put(MailboxUpload(name: "a", bytes: [1]))
        try await waiting.value
        let cursor = try #require(try await mailbox.changes(after: nil).cursor)
        async let poll = ask("GET", admin.space, admin, other, "/changes?after=\(cursor)&wait=60")
        async let stream = ask("GET", admin.space, admin, other, "/events?after=\(cursor)")
        try await untilWaiting(2, other)
        let start = ContinuousClock.now
        #expect(try await ask("DELETE", admin.space, admin, one).status == 204)
        #expect(try await poll.problem == "noSuchSpace")
        #expect(try await stream.text.hasSuffix("\r\n0\r\n\r\n"))
        #expect(ContinuousClock.now - start < .seconds(15))
        for relay in [one, other] { try await relay.stop() }
      }
    #endif
  }
#endif
