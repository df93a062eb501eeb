#if Relay
  import Foundation
  import Testing

  /// What a relay's owner does while the disk of its file is full, with the tool.
  @Suite(
    .cleansUp, .enabled(if: SmallDisk.isAvailable, "only root may mount the small disk"), .serialized,
    .timeLimit(.minutes(5)))
  struct FullDiskStartTests {
    private func fill(_ token: SmallDisk.Token, _ port: Int, _ prefix: String) async throws -> Int {
      for number in 0..<2_000 {
        let answer = try await token.ask("PUT", "\(prefix)-\(number)", port)
        guard answer.status == 201 else {
          #expect(answer.status == 507 && answer.problem == "storageFull", "\(answer.head)")
          return number
        }
      }
      Issue.record("the disk is not full")
      return 0
    }

    /// A relay that was killed on a full disk, or has ended there in order, starts again on a disk without a byte left.
    /// It says what is wrong, reads, revokes and deletes, and puts again as soon as there is room. Nothing that it has
    /// acknowledged is missing.
    @Test(arguments: [SIGKILL, SIGTERM]) func aFullDiskStopsNoStart(_ end: Int32) async throws {
      let disk = try SmallDisk(mebibytes: 32)
      var (relay, port) = try await disk.start()
      let (token, other) = (try await disk.token(), try await disk.token())
      let reader = try await disk.token(space: token.space, role: "reader")
      #expect(try await other.ask("PUT", "other", port).status == 201)
      try disk.fill(leaving: 2)
      let count = try await fill(token, port, "a")
      #expect(count > 3)
      try disk.fillUp()
      #expect(await relay.end(end) == (end == SIGKILL ? -SIGKILL : 0))
      try disk.fillUp()

      (relay, port) = try await disk.start()
      #expect(try await reader.ask("GET", "a-0", port).body == RawHTTP.body)
      #expect(try await token.ask("PUT", "new", port).problem == "storageFull")
      #expect(try await disk.tool("list").lines.count == 3)
      let revoked = try await disk.tool("revoke", reader.id)
      #expect(revoked.status == 0, "\(revoked)")
      #expect(try await reader.ask("GET", "a-0", port).problem == "tokenRevoked")
      #expect(try await token.ask("DELETE", "a-1", port).status == 204)
      #expect(try await token.ask("GET", "a-1", port).status == 404)
      let deleted = try await disk.tool("delete", other.space)
      #expect(deleted.status == 0, "\(deleted)")
      #expect(try await other.ask("GET", "other", port).problem == "noSuchSpace")
      // What that has needed is not there for puts.
      #expect(try await token.ask("PUT", "new", port).problem == "storageFull")
      #expect(relay.errorText.contains("disk") && relay.errorText.contains("is full"), "\(relay.errorText)")

      try disk.empty()
      #expect(try await token.ask("PUT", "new", port).status == 201)
      for number in 0..<count where number != 1 {
        #expect(try await token.ask("GET", "a-\(number)", port).body == RawHTTP.body)
      }
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
      // And once more, now that the reserve is there again.
      (relay, port) = try await disk.start()
      #expect(!relay.errorText.contains("fault="))
      #expect(try await token.ask("GET", "new", port).body == RawHTTP.body)
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
    }
  }
#endif
