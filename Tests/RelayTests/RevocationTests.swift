#if Relay
  import Foundation
  import Synchronization
  import TallyRelay
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import TallySync
  import TallyWire
  import Testing

  /// What counts is the token as the write's own transaction finds it.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct RevocationTests {
    private struct Ask: Sendable {
      let method: String
      let path: String
      var body: [UInt8] = []

      static let all = [
        Ask(method: "PUT", path: "/entries/new", body: [1]),
        Ask(method: "PATCH", path: "/uploads/new", body: [1]),
        Ask(method: "DELETE", path: "/entries/there"),
        Ask(
          method: "POST", path: "/entries",
          body: RelayWrites([.put(name: "new", content: [1]), .removal(name: "there")]).bytes()),
      ]
    }

    private func send(_ ask: Ask, _ token: RelayStore.NewToken, _ port: Int) async throws -> RawHTTP.Answer {
      var fields = ["Authorization": "Bearer \(token.token)"]
      if !ask.body.isEmpty { fields["Content-Digest"] = RelayDigest.field(SHA256.hash(ask.body)) }
      if ask.method == "PATCH" { (fields["Upload-Offset"], fields["Upload-Length"]) = ("0", "\(ask.body.count)") }
      return try await RawHTTP.send(ask.method, "/v1/spaces/\(token.space)\(ask.path)", fields, ask.body, port: port)
    }

    /// A request was let in, and waits; until its turn comes the token is revoked, ends, or loses its space.
    @Test(arguments: StorageKind.available) func aWriteThatWaitsIsRefused(_ kind: StorageKind) async throws {
      let stuck = Mutex<StuckStorage?>(nil)
      let relay = try await RelayFixture.start(
        kind,
        open: { place, state in
          let storage = StuckStorage(try await place.open(.serving, time: { state.now }))
          stuck.withLock { $0 = storage }
          return storage
        })
      let storage = try #require(stuck.withLock { $0 })
      let owner = try await relay.token()
      _ = try await relay.mailbox(owner).put(MailboxUpload(name: "there", bytes: [1, 2]))
      let head = try await relay.mailbox(owner).status().head
      for ask in Ask.all {
        for (problem, status) in [("tokenRevoked", 401), ("tokenExpired", 401), ("forbidden", 403)] {
          let token = try await relay.token(owner.space, expires: problem == "tokenExpired" ? relay.now + 100 : nil)
          storage.holdsWrites = true
          async let answer = send(ask, token, relay.port)
          for await word in storage.events where word == "waits" { break }
          switch problem {
          case "tokenRevoked":
            let beside = try await relay.place.open(.administration, time: { relay.now })
            try await beside.revoke(token.id)
            try beside.close()
          case "tokenExpired": relay.now += 100
          default: try await demote(token, relay)
          }
          storage.holdsWrites = false
          let refused = try await answer
          #expect(refused.status == status && refused.problem == problem, "\(ask.method) \(refused.head)")
          // And it is looked up before its next body is taken in.
          let next = try await send(ask, token, relay.port)
          #expect(next.status == status && next.problem == problem, "\(ask.method) \(next.head)")
        }
      }
      #expect(try await relay.mailbox(owner).status().head == head)
      let admin = try await relay.token(owner.space, .admin)
      storage.holdsWrites = true
      async let late = send(Ask.all[0], owner, relay.port)
      for await word in storage.events where word == "waits" { break }
      try await relay.store.deleteSpace(admin.space)
      storage.holdsWrites = false
      let gone = try await late
      #expect(gone.status == 404 && gone.problem == "noSuchSpace")
      try await relay.stop()
    }

    /// As an owner may with SQL; the tool makes another token instead.
    private func demote(_ token: RelayStore.NewToken, _ relay: RelayFixture) async throws {
      let hash = RelayStore.hash(token.token)
      if let database = relay.place.database {
        let text = hash.map { String(format: "%02x", $0) }.joined()
        try await PostgresCluster.sql(
          "UPDATE tally_relay.token SET role = 'reader' WHERE hash = '\\x\(text)'", in: database)
      } else {
        let file = try RelayStore(path: relay.place.path, for: .administration)
        try await file.pool.write { db in
          try db.execute(sql: "UPDATE token SET role = 'reader' WHERE hash = ?", arguments: [Data(hash)])
        }
        try file.close()
      }
    }

    private final class Names: Sendable {
      private let names = Mutex<Set<String>>([])
      var all: Set<String> { names.withLock { $0 } }
      func add(_ name: String) -> Int {
        names.withLock { names in
          names.insert(name)
          return names.count
        }
      }
    }

    /// When `revoke` has returned, the log is as long as it gets, and all that was ever acknowledged stands in it.
    @Test(arguments: StorageKind.available, [1, 4]) func nothingIsPutAfterARevocation(_ kind: StorageKind, _ batch: Int)
      async throws
    {
      try await RelayFixture.run(kind) { relay in
        let owner = try await relay.token()
        for round in 0..<5 {
          let token = try await relay.token(owner.space)
          let acknowledged = Names()
          let (done, feed) = AsyncStream.makeStream(of: Int.self)
          var head = ""
          try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
              group.addTask {
                let mailbox = try relay.mailbox(token)
                for number in 0..<100_000 {
                  let uploads = (0..<batch).map {
                    MailboxUpload(name: "r\(round)-w\(writer)-\(number)-\($0)", bytes: [1])
                  }
                  for (upload, result) in zip(uploads, try await mailbox.put(uploads)) {
                    switch result {
                    case .success: feed.yield(acknowledged.add(upload.name))
                    case .failure(let error):
                      #expect((error as? RelayError)?.problem == .tokenRevoked, "\(error)")
                      return
                    }
                  }
                }
                Issue.record("the token was not revoked")
              }
            }
            for await count in done where count >= 20 + 13 * round { break }
            let beside = try await relay.place.open(.administration)
            try await beside.revoke(token.id)
            head = try await relay.mailbox(owner).status().head
            try beside.close()
            try await group.waitForAll()
          }
          #expect(try await relay.mailbox(owner).status().head == head, "round \(round)")
          var (there, cursor): (Set<String>, MailboxCursor?) = ([], nil)
          for _ in 0..<10_000 {
            let page = try await relay.mailbox(owner).changes(after: cursor)
            there.formUnion(page.items.map(\.name))
            cursor = page.cursor
            if !page.hasMore { break }
          }
          #expect(acknowledged.all.isSubset(of: there), "round \(round)")
        }
      }
    }
  }
#endif
