#if Relay
  import Foundation
  import GRDB
  @testable import TallyRelayServer
  import Testing

  /// A relay's file on a disk that is read-only, or that is read-only itself: a relay that serves does not start, and
  /// says why; one that serves already goes on reading.
  @Suite(.cleansUp, .serialized, .timeLimit(.minutes(5))) struct ReadOnlyTests {
    /// After a clean end and after a kill, with the log beside the file: the exit code and the words are those of a
    /// read-only disk, nothing is changed, and with a disk that can be written the relay starts and has everything.
    @Test(
      .enabled(if: SmallDisk.isAvailable, "only root may mount a disk that is read-only"),
      arguments: [SIGTERM, SIGKILL])
    func aReadOnlyDiskIsNamedAtTheStart(_ end: Int32) async throws {
      let disk = try SmallDisk(mebibytes: 32)
      var (relay, port) = try await disk.start()
      let token = try await disk.token()
      #expect(try await token.ask("PUT", "a", port).status == 201)
      #expect(await relay.end(end) == (end == SIGKILL ? -SIGKILL : 0))
      try disk.setReadOnly(true)
      let refused = try await disk.tool("serve", "--listen", "127.0.0.1:0")
      #expect(refused.status == 74 && refused.output.isEmpty, "\(refused)")
      #expect(
        refused.errors.contains(disk.file) && refused.errors.contains(String(cString: strerror(EROFS))), "\(refused)")
      let revoked = try await disk.tool("revoke", token.id)
      #expect(revoked.status == 74, "\(revoked)")
      // What only reads needs the log's files, which a clean end has removed.
      let list = try await disk.tool("list")
      if end == SIGKILL {
        #expect(list.status == 0 && list.lines.count == 1, "\(list)")
      } else {
        #expect(list.status == 74 && list.errors.contains("cannot write to"), "\(list)")
      }
      try disk.setReadOnly(false)
      (relay, port) = try await disk.start()
      #expect(try await token.ask("GET", "a", port).body == RawHTTP.body)
      #expect(try await token.ask("PUT", "b", port).status == 201)
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
    }

    /// Where there is nothing yet, nothing can be made.
    @Test(.enabled(if: SmallDisk.isAvailable, "only root may mount a disk that is read-only"))
    func nothingIsMadeOnAReadOnlyDisk() async throws {
      let disk = try SmallDisk(mebibytes: 4)
      try disk.setReadOnly(true)
      let refused = try await disk.tool("serve", "--listen", "127.0.0.1:0")
      #expect(refused.status == 74 && refused.output.isEmpty, "\(refused)")
      #expect(refused.errors.contains(String(cString: strerror(EROFS))), "\(refused)")
    }

    /// A file that cannot be written, in a folder that can: nothing is made beside it, such as a lock.
    @Test(.enabled(if: SmallDisk.isAvailable, "only root may make a file read-only for itself"))
    func aReadOnlyFileIsNamedAtTheStart() async throws {
      let path = try RelayFixture.newFolder().appendingPathComponent("relay.sqlite").path
      let store = try RelayStore(path: path, for: .administration)
      let token = try await store.makeToken(space: nil, role: .writer)
      try store.close()
      let undo = try SmallDisk.makeReadOnly(path)
      for purpose in [RelayStore.Purpose.serving, .administration] {
        let refusal = #expect(throws: RelayStoreError.self) { try RelayStore(path: path, for: purpose) }
        #expect(refusal?.code == .readOnly && refusal?.isPermanent == true, "\(purpose)")
      }
      #expect(!FileManager.default.fileExists(atPath: path + "-serving"))
      try undo()
      let again = try RelayStore(path: path, for: .serving)
      #expect(try await again.tokens().map(\.id) == [token.id])
      try again.close()
    }

    /// A disk that the system makes read-only after a failure, while the relay serves: what it refuses is not
    /// acknowledged, reading and waiting go on, the owner is told, and writing goes on when it can.
    @Test func whatBecomesReadOnlyIsStillRead() async throws {
      try await RelayFixture.run { relay in
        let token = try await relay.token()
        func ask(_ method: String, _ name: String) async throws -> RawHTTP.Answer {
          try await RawHTTP.ask(method, name, of: token.space, token.token, relay.port)
        }
        let file = try #require(relay.store as? RelayStore)
        func setReadOnly(_ isReadOnly: Bool) async throws {
          try await file.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = \(isReadOnly)") }
        }
        #expect(try await ask("PUT", "a").status == 201)
        try await setReadOnly(true)
        for (method, name) in [("PUT", "b"), ("DELETE", "a")] {
          let refused = try await ask(method, name)
          #expect(refused.status == 503 && refused.problem == "storageFailed", "\(refused.head)")
        }
        #expect(relay.log.contains { $0.contains("fault=SQLite: ") })
        #expect(try await ask("GET", "a").body == RawHTTP.body)
        let mailbox = try relay.mailbox(token)
        let page = try await mailbox.changes(after: nil)
        #expect(page.items.map(\.name) == ["a"])
        #expect(try await RawHTTP.send("GET", "/readyz", port: relay.adminPort).status == 200)
        let waiting = Task { try await mailbox.wait(after: page.cursor) }
        try await setReadOnly(false)
        #expect(try await ask("PUT", "b").status == 201)
        try await waiting.value
        #expect(try await mailbox.changes(after: nil).items.map(\.name) == ["a", "b"])
      }
    }
  }
#endif
