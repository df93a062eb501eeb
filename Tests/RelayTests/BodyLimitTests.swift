#if Relay
  import Foundation
  import Tally
  import TallyRelay
  import TallyRelayServer
  import TallySync
  import Testing

  /// A proxy before a relay takes less in a request than the protocol allows, and says so in its own words.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct BodyLimitTests {
    private static let mebibyte = 1 << 20

    private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }

    private func mailbox(_ proxy: LimitedProxy, _ token: String, _ space: String) throws -> RelayMailbox {
      var settings = RelayClient.Settings()
      settings.sleep = { _ in }
      return try RelayMailbox("http://127.0.0.1:\(proxy.port)/s/\(space)", token: token, settings)
    }

    /// The entry is there, byte for byte, in the fewest pieces that powers of two give, and what comes later begins
    /// with what was learned.
    @Test(arguments: [(1 << 20, 9 << 20, 9), (3 << 19, 3 << 20, 3), (5_000, 5_001, 2), (4 << 20, 5 << 20, 2)])
    func whatAProxyRefusesGoesInSmallerPieces(_ limit: Int, _ size: Int, _ pieces: Int) async throws {
      try await RelayFixture.run { relay in
        let proxy = try LimitedProxy(to: relay.port, limit: limit)
        let token = try await relay.token()
        let mailbox = try mailbox(proxy, token.token, token.space)
        let content = bytes(size)
        _ = try await mailbox.put(MailboxUpload(name: "large", bytes: content))
        var read: [UInt8] = []
        for try await piece in try await mailbox.get("large", from: 0) { read += piece }
        #expect(read == content)
        #expect(mailbox.bodyLimit ?? 4 << 20 <= limit)
        #expect((mailbox.bodyLimit == nil) == (limit == 4 << 20))
        #expect(proxy.taken.filter { $0 > 0 }.count == pieces, "\(proxy.taken)")

        let refusals = proxy.refusals
        _ = try await mailbox.put(MailboxUpload(name: "next", bytes: content))
        #expect(proxy.refusals == refusals)
        // A client has one limit, whichever mailbox has met it.
        #expect(try await mailbox.status().entries == 2)
        proxy.stop()
      }
    }

    /// An upload that is under way when the limit comes goes on where it is.
    @Test func aLimitThatComesLaterIsMetInTheMiddle() async throws {
      try await RelayFixture.run { relay in
        let proxy = try LimitedProxy(to: relay.port, limit: 4 << 20)
        let token = try await relay.token()
        let mailbox = try mailbox(proxy, token.token, token.space)
        let content = bytes(11 << 20)
        let upload = MailboxUpload(name: "large", byteCount: content.count) { offset, count in
          if offset > 0 { proxy.limit = Self.mebibyte }
          return Array(content[offset..<offset + count])
        }
        _ = try await mailbox.put(upload)
        var read: [UInt8] = []
        for try await piece in try await mailbox.get("large", from: 0) { read += piece }
        #expect(read == content)
        #expect(proxy.taken.filter { $0 > 0 } == [4 << 20] + Array(repeating: Self.mebibyte, count: 7))
        proxy.stop()
      }
    }

    /// One that takes nothing is an error that says what is in the way, after a bounded number of requests, and
    /// reading goes on.
    @Test func aProxyThatTakesNoBodyIsNamed() async throws {
      try await RelayFixture.run { relay in
        let proxy = try LimitedProxy(to: relay.port, limit: 0)
        let token = try await relay.token()
        let mailbox = try mailbox(proxy, token.token, token.space)
        for size in [1, 100_000, 9 << 20] {
          let error = await #expect(throws: RelayError.self) {
            try await mailbox.put(MailboxUpload(name: "n\(size)", bytes: bytes(size)))
          }
          #expect(error?.code == .tooLarge && error?.problem == nil)
          #expect(error?.message.contains("client_max_body_size 4m") == true, "\(error?.message ?? "")")
        }
        #expect(proxy.refusals < 30)
        #expect(try await mailbox.changes(after: nil).items.isEmpty)
        proxy.stop()
      }
    }

    /// A relay that refuses an entry as too large says so itself: nothing smaller is tried.
    @Test func whatTheRelayRefusesIsNotTriedInPieces() async throws {
      let small: (inout RelaySettings) -> Void = { $0.limits.entryBytes = 1_000 }
      try await RelayFixture.run(.sqlite, small) { relay in
        let proxy = try LimitedProxy(to: relay.port, limit: 4 << 20)
        let token = try await relay.token()
        let mailbox = try mailbox(proxy, token.token, token.space)
        let error = await #expect(throws: RelayError.self) {
          try await mailbox.put(MailboxUpload(name: "large", bytes: bytes(5 << 20)))
        }
        #expect(error?.code == .tooLarge && error?.problem == .tooLarge && mailbox.bodyLimit == nil)
        #expect(proxy.taken.filter { $0 > 0 }.count == 1)
        proxy.stop()
      }
    }

    /// As people meet it: a sync by the tool goes through, and says what made it slow.
    @Test func aSyncThroughAProxySaysWhatMakesItSlow() async throws {
      let folder = try RelayFixture.newFolder()
      let stores = try ["a", "b"].map { try Store(path: folder.appendingPathComponent($0).path, schema: Scores.schema) }
      try Scores.insert("large", noise: 3 << 20, into: stores[0])
      for store in stores { try store.close() }
      try await RelayFixture.run { relay in
        let proxy = try LimitedProxy(to: relay.port, limit: Self.mebibyte)
        let token = try await relay.token()
        let space = "http://127.0.0.1:\(proxy.port)/s/\(token.space)"
        let secret = folder.appendingPathComponent("token")
        try Data("\(token.token)\n".utf8).write(to: secret)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secret.path)
        for (store, note) in [("a", "client_max_body_size 4m"), ("b", nil)] {
          let sync = try await Tool.run("sync", store, "--via", space, "--token-file", "token", in: folder)
          #expect(sync.status == 0, "\(sync)")
          #expect(note.map { sync.errors.contains($0) } ?? sync.errors.isEmpty, "\(sync)")
        }
        let dumps = [
          try await Tool.run("dump", "a", in: folder).output, try await Tool.run("dump", "b", in: folder).output,
        ]
        #expect(dumps[0] == dumps[1] && dumps[1].contains("Score|~|large"))
        proxy.stop()
      }
    }
  }
#endif
