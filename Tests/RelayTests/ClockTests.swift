#if Relay
  import Foundation
  import TallyRelay
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import TallySync
  import TallyWire
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

    private static let year: Int64 = 365 * 86_400
    private static let day: Int64 = 86_400

    /// A year ahead, right, a year behind, right: a token ends by the clock as it is, and counts again when the clock
    /// says so; one that does not end is not refused, and who waits with it goes on waiting; the log has no gap.
    @Test(arguments: StorageKind.available) func aClockThatJumpsEndsOnlyWhatExpires(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) {
        ($0.limits.heartbeat, $0.limits.tokenPause) = (.milliseconds(200), .milliseconds(50))
        $0.limits.sweepPause = .milliseconds(20)
      } _: { relay in
        let (lasting, start) = (try await relay.token(), relay.now)
        let ending = try await relay.token(lasting.space, expires: start + 90 * Self.day)
        let (mailbox, other) = (try relay.mailbox(lasting), try relay.mailbox(try await relay.token(lasting.space)))
        func ask(_ token: RelayStore.NewToken, _ method: String, _ path: String) async throws -> RawHTTP.Answer {
          var fields = ["Authorization": "Bearer \(token.token)"]
          if method == "PUT" { fields["Content-Digest"] = RelayDigest.field(SHA256.hash([1])) }
          return try await RawHTTP.send(
            method, "/v1/spaces/\(token.space)\(path)", fields, method == "PUT" ? [1] : [], port: relay.port)
        }
        var (cursor, names) = (try await mailbox.changes(after: nil).cursor, [String]())
        for (index, jump) in [Self.year, 0, -Self.year, 0].enumerated() {
          let isOver = jump > 0
          let waiting = Task { [cursor] in try await mailbox.wait(after: cursor) }
          // One with the other token, which ends if that does.
          async let stream = isOver ? ask(ending, "GET", "/events") : nil
          try await Looking.until("all follow", within: .seconds(60)) {
            try await RawHTTP.send("GET", "/metrics", port: relay.adminPort).text.contains(
              "\ntally_relay_streams \(isOver ? 2 : 1)\n")
          }
          relay.now = start + jump
          #expect(try await stream?.status ?? 200 == 200)
          for (method, path, status) in [("GET", "", 200), ("PUT", "/entries/e-\(index)", 201)] {
            let answer = try await ask(ending, method, path)
            #expect(
              isOver ? answer.problem == "tokenExpired" : answer.status == status, "\(jump) \(method): \(answer.head)")
          }
          if !isOver { names.append("e-\(index)") }
          _ = try await other.put(MailboxUpload(name: "l-\(index)", bytes: [1]))
          names.append("l-\(index)")
          try await waiting.value
          cursor = try await mailbox.changes(after: cursor).cursor
        }
        let page = try await mailbox.changes(after: nil)
        #expect(page.items.map(\.name) == names && page.cursor?.position == UInt64(names.count))
        #expect(!relay.log.contains { $0.contains("fault=") && !$0.contains("the clock was set by") })
      }
    }

    /// Rates go by a clock that nobody sets: a token that has asked too often gains nothing by a year.
    @Test func aClockThatJumpsChangesNoRate() async throws {
      try await RelayFixture.run {
        ($0.limits.requestsPerSecond, $0.limits.requestBurst) = (0.001, 3)
      } _: { relay in
        let (first, start) = (try await relay.token(), relay.now)
        func ask(_ token: RelayStore.NewToken) async throws -> RawHTTP.Answer {
          try await RawHTTP.send(
            "GET", "/v1/spaces/\(token.space)", ["Authorization": "Bearer \(token.token)"], port: relay.port)
        }
        for _ in 0..<3 { #expect(try await ask(first).status == 200) }
        for jump in [0, Self.year, 0, -Self.year, 0] {
          relay.now = start + jump
          let refused = try await ask(first)
          #expect(refused.status == 429, "\(jump)")
          #expect((1...1_000).contains(refused.field("retry-after").flatMap { Int($0) } ?? 0), "\(refused.head)")
          // One that comes now has all of its own.
          let fresh = try await relay.token()
          for _ in 0..<3 { #expect(try await ask(fresh).status == 200) }
        }
      }
    }

    /// A clock that is behind, for however long, takes no time from what was deleted, or begun to be uploaded, before:
    /// when it is right again both have what is left of theirs.
    @Test(arguments: StorageKind.available)
    func aClockThatFallsBehindShortensNothing(_ kind: StorageKind) async throws {
      let (place, state) = (try await StoragePlace(kind), RelayFixture.State())
      let store = try await place.open(.serving, time: { state.now })
      let gone = try await store.makeToken(space: nil, role: .writer, quota: nil, expires: nil)
      let kept = try await store.makeToken(space: nil, role: .writer, quota: nil, expires: nil)
      let space = try #require(try await store.bearer(kept.token)).space
      let start = state.now
      try await store.deleteSpace(gone.space)
      _ = try await store.put(piece: [1], at: 0, of: 2, "upload", in: space, after: nil)
      func sweep() async throws {
        for _ in 0..<100 { guard try await store.removeSlice(deletedFor: 7 * Self.day) else { return } }
        Issue.record("sweeping finds no end")
      }
      for time in [start - Self.year, start, start + RelayStore.uploadSeconds - 1] {
        state.now = time
        try await sweep()
        #expect(try await store.tokens().compactMap(\.spaceDeleted) == [start])
        #expect(try await store.upload("upload", in: space).received == 1)
      }
      state.now += 1
      try await sweep()
      #expect(try await store.space(space).bytes == 0)
      state.now = start + 7 * Self.day - 1
      try await sweep()
      #expect(try await store.tokens().count == 2)
      state.now += 1
      try await sweep()
      #expect(try await store.tokens().map(\.space) == [kept.space])
      try store.close()
    }
  }
#endif
