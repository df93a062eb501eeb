#if Relay
  import Foundation
  import GRDB
  import Synchronization
  import TallyRelay
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import TallySync
  import TallyTesting
  import Testing

  /// What changes while a relay runs: time, tokens, room.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct TokenTests {
    private func error(_ body: () async throws -> Void) async throws -> RelayError {
      do {
        try await body()
      } catch let error as RelayError {
        return error
      }
      throw RelayError(.failed, "no error was thrown")
    }

    private func upload(_ name: String, _ size: Int) -> MailboxUpload {
      MailboxUpload(name: name, bytes: Array(repeating: 1, count: size))
    }

    @Test(arguments: StorageKind.available) func tokensEndWhileTheRelayRuns(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let short = try await relay.token(expires: relay.now + 100)
        let other = try await relay.token(short.space)
        let (one, two) = (try relay.mailbox(short), try relay.mailbox(other))
        _ = try await one.put(upload("a", 10))
        relay.now += 99
        #expect(try await one.status().entries == 1)
        relay.now += 1
        let expired = try await error { _ = try await one.status() }
        #expect(expired.code == .unauthenticated && expired.problem == .tokenExpired)
        _ = try await two.put(upload("b", 10))
        // Another process revokes.
        let beside = try await relay.place.open(.administration)
        try await beside.revoke(String(other.id.prefix(6)))
        try beside.close()
        let revoked = try await error { _ = try await two.put(upload("c", 10)) }
        #expect(revoked.code == .unauthenticated && revoked.problem == .tokenRevoked)
        #expect("\(revoked)".contains(other.token) == false)
      }
    }

    /// No room is no reason not to read, and what is removed makes room.
    @Test(arguments: StorageKind.available) func aFullSpaceIsReadAndEmptied(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let mailbox = try relay.mailbox(try await relay.token(quota: 10_000_000))
        _ = try await mailbox.put(upload("a", 4_000_000))
        _ = try await mailbox.put(upload("b", 4_000_000))
        let full = try await error { _ = try await mailbox.put(upload("c", 4_000_000)) }
        #expect(full.code == .quotaExceeded && full.problem == .quotaExceeded)
        let pieces = try await error { _ = try await mailbox.put(upload("d", 5_000_000)) }
        #expect(pieces.code == .quotaExceeded)
        let page = try await mailbox.changes(after: nil)
        #expect(page.items.map(\.name) == ["a", "b"])
        try await mailbox.remove(["a"])
        _ = try await mailbox.put(upload("c", 4_000_000))
        let status = try await mailbox.status()
        #expect(status.entries == 2 && status.bytes == 8_000_000 + 4 * 256 && status.quota == 10_000_000)
      }
    }

    /// A full disk, as SQLite tells of it: whoever writes is told so, reading goes on, and so does writing when there
    /// is room again.
    @Test func aFullDiskIsReadAndRecovers() async throws {
      try await RelayFixture.run { relay in
        let mailbox = try relay.mailbox(try await relay.token())
        _ = try await mailbox.put(upload("a", 1_000_000))
        let file = try #require(relay.store as? RelayStore)
        try await file.pool.write { db in
          let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
          _ = try Int.fetchOne(db, sql: "PRAGMA max_page_count = \(pages + 40)")
        }
        let full = try await error { _ = try await mailbox.put(upload("b", 1_000_000)) }
        #expect(full.code == .quotaExceeded && full.problem == .storageFull)
        #expect(try await mailbox.changes(after: nil).items.map(\.name) == ["a"])
        let ready = try await RawHTTP.send("GET", "/readyz", port: relay.adminPort)
        #expect(ready.status == 200 && relay.log.contains { $0.contains("fault=") })
        try await file.pool.write { _ = try Int.fetchOne($0, sql: "PRAGMA max_page_count = 1000000") }
        _ = try await mailbox.put(upload("b", 1_000_000))
        #expect(try await mailbox.changes(after: nil).items.map(\.name) == ["a", "b"])
      }
    }

    /// A store keeps what a full space did not take, and puts it when there is room.
    @Test(arguments: StorageKind.available) func whatAFullSpaceRefusesIsPutLater(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let token = try await relay.token(quota: 2_000)
        let (store, mailbox) = (try Scores.store("one", noise: 5_000), try relay.mailbox(token))
        let full = try await error { _ = try await store.sync(through: mailbox) }
        #expect(full.code == .quotaExceeded)
        _ = try await relay.token(token.space, quota: 1_000_000)
        #expect(try await store.sync(through: mailbox).written.count == 1)
      }
    }

    @Test func whoAsksTooOftenWaits() async throws {
      try await RelayFixture.run {
        ($0.limits.requestsPerSecond, $0.limits.requestBurst) = (0.05, 3)
      } _: { relay in
        let token = try await relay.token()
        var last: RawHTTP.Answer?
        for _ in 0..<8 where last?.status != 429 {
          last = try await RawHTTP.send(
            "GET", "/v1/spaces/\(token.space)", ["Authorization": "Bearer \(token.token)"], port: relay.port)
        }
        #expect(last?.status == 429 && last?.problem == "tooManyRequests")
        // One request comes back every twenty seconds.
        #expect((1...20).contains(last?.field("retry-after").flatMap { Int($0) } ?? 0))
        // Another token is not held up, and the client waits as long as it is told to.
        #expect(try await relay.mailbox(try await relay.token()).status().entries == 0)
        let pauses = Mutex<[Duration]>([])
        let mailbox = try relay.mailbox(token) { settings in
          settings.retries = 2
          settings.sleep = { pause in pauses.withLock { $0.append(pause) } }
        }
        do { for _ in 0..<10 { _ = try await mailbox.status() } } catch let error as RelayError {
          #expect(error.code == .busy && error.problem == .tooManyRequests)
        }
        let waited = pauses.withLock { $0 }
        #expect(waited.count >= 2 && waited.allSatisfy { .seconds(1)...(.seconds(20)) ~= $0 }, "\(waited)")
      }
    }

    /// Neither tokens nor names reach the log, the metrics or an error; what is needed to look for a fault does.
    @Test(arguments: [RelaySettings.LogFormat.json, .text], StorageKind.available)
    func nothingSecretIsWritten(_ format: RelaySettings.LogFormat, _ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) {
        $0.logFormat = format
      } _: { relay in
        let token = try await relay.token()
        let mailbox = try relay.mailbox(token)
        _ = try await mailbox.put(upload("entry-with-a-name", 100))
        _ = try await mailbox.put(upload("entry-of-pieces", 5 << 20))
        _ = try await mailbox.changes(after: nil)
        for try await _ in try await mailbox.get("entry-of-pieces", from: 0) {}
        let stranger = try await relay.token()
        let foreign = try RelayMailbox("\(relay.base)/s/\(token.space)", token: stranger.token)
        let refused = try await error { _ = try await foreign.changes(after: nil) }
        #expect(refused.code == .noSuchSpace)
        let metrics = try await RawHTTP.send("GET", "/metrics", port: relay.adminPort)
        #expect(
          metrics.status == 200
            && metrics.text.contains("tally_relay_requests_total{route=\"putEntry\",status=\"201\"} 1"))
        let written = relay.log.joined(separator: "\n") + metrics.text + "\(mailbox) \(refused)" + "\(mailbox.name)"
        for secret in [token.token, stranger.token, "entry-with-a-name", "entry-of-pieces"] {
          #expect(!written.contains(secret))
        }
        #expect(!relay.log.joined().contains(token.space) && !metrics.text.contains(token.space))
        var shown = ""
        dump(mailbox, to: &shown)
        #expect(!shown.contains(token.token))
        #expect(relay.log.count >= 8)
        let first = try #require(relay.log.first)
        switch format {
        case .json:
          let line = try #require(try JSONSerialization.jsonObject(with: Data(first.utf8)) as? [String: Any])
          #expect(line["route"] as? String == "putEntry" && line["status"] as? Int == 201)
          #expect((line["space"] as? String)?.count == 8)
        case .text: #expect(first.contains(" route=putEntry status=201 received=100 sent=0 "))
        }
      }
    }

    /// A token with a line feed would be a header field of its own.
    @Test func aTokenThatIsNoneIsNotSent() async throws {
      try await RelayFixture.run { relay in
        let token = try await relay.token()
        for text in ["\(token.token)\r\nX-Other: 1", "tally1_ü", "a b"] {
          let mailbox = try RelayMailbox("\(relay.base)/s/\(token.space)", token: text)
          let refused = try await error { _ = try await mailbox.status() }
          #expect(refused.code == .unauthenticated && refused.problem == nil)
        }
        #expect(relay.log.isEmpty)
      }
    }

    @Test(arguments: [
      "ftp://127.0.0.1/s/a", "http:///s/a", "https://relay.example", "https://relay.example/s/",
      "https://relay.example/s/a b",
      "https://me:secret@relay.example/s/a", "https://relay.example/s/a?token=b", "relay.example/s/a",
    ])
    func whatIsNoAddressIsRefused(_ address: String) {
      let refused = #expect(throws: RelayError.self) { try RelayMailbox(address, token: "tally1_") }
      #expect(refused?.code == .invalidAddress && RelaySpaceAddress(address) == nil)
    }

    @Test func healthIsOnAListenerOfItsOwn() async throws {
      try await RelayFixture.run { relay in
        for path in ["/healthz", "/readyz"] {
          let (here, there) = (relay.adminPort, relay.port)
          let (healthy, refused) = (
            try await RawHTTP.send("GET", path, port: here), try await RawHTTP.send("GET", path, port: there)
          )
          #expect(healthy.text == "ok\n" && refused.status == 401)
        }
        let api = try await RawHTTP.send("GET", "/v1/spaces/a", port: relay.adminPort)
        #expect(api.status == 404)
      }
    }
  }
#endif
