#if Relay
  import Foundation
  import TallyRelay
  import TallyRelayServer
  import TallySync
  import Testing

  /// Connections that break.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct CutTests {
    private func noise(_ count: Int) -> [UInt8] {
      var state: UInt64 = 0x9E37_79B9_7F4A_7C15
      return (0..<count).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: state >> 56)
      }
    }

    private func mailbox(_ token: RelayStore.NewToken, through proxy: CutProxy) throws -> RelayMailbox {
      try RelayMailbox("http://127.0.0.1:\(proxy.port)/s/\(token.space)", token: token.token)
    }

    /// Each connection ends after 300 kB. What has come is not asked for again.
    @Test(arguments: StorageKind.available) func aDownloadGoesOnWhereItBroke(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let token = try await relay.token()
        let bytes = noise(3 << 20)
        _ = try await relay.mailbox(token).put(MailboxUpload(name: "a", bytes: bytes))
        let proxy = try CutProxy(to: relay.port, .init(down: 300_000, count: 8))
        defer { proxy.close() }
        var read: [UInt8] = []
        for try await piece in try await mailbox(token, through: proxy).get("a", from: 0) { read += piece }
        #expect(read == bytes)
        #expect(proxy.cuts == 8)
        #expect(proxy.bytesDown < bytes.count * 5 / 4, "\(proxy.bytesDown) bytes for \(bytes.count)")
      }
    }

    /// The second piece breaks off however often it is tried, which is an error. Another mailbox sends what the relay
    /// lacks, and no more.
    @Test(arguments: StorageKind.available) func anUploadGoesOnWhereItBroke(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let token = try await relay.token()
        let bytes = noise(10 << 20)
        // On Linux a question goes over one connection and each piece over one of its own.
        let cut = try CutProxy(to: relay.port, .init(up: [5 << 20, 5 << 20, 1 << 20]))
        defer { cut.close() }
        let error = await #expect(throws: RelayError.self) {
          try await mailbox(token, through: cut).put(MailboxUpload(name: "a", bytes: bytes))
        }
        #expect(error?.code == .unreachable)
        let clear = try CutProxy(to: relay.port, .init())
        defer { clear.close() }
        let receipt = try await mailbox(token, through: clear).put(MailboxUpload(name: "a", bytes: bytes))
        #expect(receipt.cursor == nil)
        #expect(clear.bytesUp < 7 << 20, "\(clear.bytesUp) bytes for the last 6 MiB")
        var read: [UInt8] = []
        for try await piece in try await relay.mailbox(token).get("a", from: 0) { read += piece }
        #expect(read == bytes)
        #expect(try await relay.mailbox(token).status().entries == 1)
      }
    }

    /// An answer that is lost leaves the sender in doubt. It puts again, and there is one entry.
    @Test(arguments: StorageKind.available) func puttingTwiceIsOneEntry(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let token = try await relay.token()
        let proxy = try CutProxy(to: relay.port, .init(down: 0, count: 1))
        defer { proxy.close() }
        let mailbox = try mailbox(token, through: proxy)
        _ = try await mailbox.put(MailboxUpload(name: "a", bytes: [1, 2, 3]))
        _ = try await mailbox.put(MailboxUpload(name: "a", bytes: [1, 2, 3]))
        #expect(proxy.cuts == 1)
        let page = try await mailbox.changes(after: nil)
        #expect(page.items.map(\.name) == ["a"] && page.cursor?.position == 1)
      }
    }

    /// A cursor comes with a put only if nobody else came in between; so nothing is left out by who goes on from it.
    @Test(arguments: StorageKind.available) func aReceiptGoesOnFromItsOwnEntryOnly(_ kind: StorageKind) async throws {
      try await RelayFixture.run(kind) { relay in
        let mailbox = try relay.mailbox(try await relay.token())
        let start = try await mailbox.changes(after: nil).cursor
        let first = try await mailbox.put(MailboxUpload(name: "a", bytes: [1], after: start))
        #expect(first.cursor?.position == 1)
        let late = try await mailbox.put(MailboxUpload(name: "b", bytes: [1], after: start))
        #expect(late.cursor == nil)
        let large = try await mailbox.put(
          MailboxUpload(name: "c", bytes: noise(5 << 20), after: try await mailbox.changes(after: nil).cursor))
        #expect(large.cursor?.position == 3)
        #expect(try await mailbox.changes(after: large.cursor).items.isEmpty)
      }
    }
  }
#endif
