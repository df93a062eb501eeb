#if Relay
  import Foundation
  import TallyRelayProtocol
  import TallyRelayServer
  import TallyWire
  import Testing

  /// What a relay's owner does while the disk of its file is full, with the tool.
  @Suite(
    .cleansUp, .enabled(if: SmallDisk.isAvailable, "only root may mount the small disk"), .serialized,
    .timeLimit(.minutes(5)))
  struct FullDiskStartTests {
    private struct Token: Decodable {
      let space: String
      let token: String
      let id: String
    }

    private static let body = (0..<60_000).map { UInt8(truncatingIfNeeded: $0 &* 37) }

    private func start(_ disk: SmallDisk) async throws -> (RelayProcess, Int) {
      let (relay, line) = try await RelayProcess.start(
        "relay", "--data", "\(disk.folder.path)/relay.sqlite", "--listen", "127.0.0.1:0",
        in: try RelayFixture.newFolder())
      return (relay, try #require(Int(line.split(separator: ":").last ?? "")))
    }

    private func tool(_ disk: SmallDisk, _ verb: String, _ more: String...) async throws -> Tool.Outcome {
      let arguments = ["relay", verb, "--data", "\(disk.folder.path)/relay.sqlite"] + more
      return try await Tool.run(arguments, in: try RelayFixture.newFolder())
    }

    private func token(_ disk: SmallDisk, space: String = "new", role: String = "writer") async throws -> Token {
      let made = try await tool(disk, "token", "--json", "--space", space, "--role", role)
      return try JSONDecoder().decode(Token.self, from: Data(made.output.utf8))
    }

    private func ask(_ method: String, _ name: String, _ token: Token, _ port: Int) async throws -> RawHTTP.Answer {
      var fields = ["Authorization": "Bearer \(token.token)"]
      if method == "PUT" { fields["Content-Digest"] = RelayDigest.field(SHA256.hash(Self.body)) }
      return try await RawHTTP.send(
        method, "/v1/spaces/\(token.space)/entries/\(name)", fields, method == "PUT" ? Self.body : [], port: port)
    }

    private func fill(_ token: Token, _ port: Int, _ prefix: String) async throws -> Int {
      for number in 0..<2_000 {
        let answer = try await ask("PUT", "\(prefix)-\(number)", token, port)
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
      var (relay, port) = try await start(disk)
      let (token, other) = (try await token(disk), try await token(disk))
      let reader = try await self.token(disk, space: token.space, role: "reader")
      #expect(try await ask("PUT", "other", other, port).status == 201)
      try disk.fill(leaving: 2)
      let count = try await fill(token, port, "a")
      #expect(count > 3)
      try disk.fillUp()
      #expect(await relay.end(end) == (end == SIGKILL ? -SIGKILL : 0))
      try disk.fillUp()

      (relay, port) = try await start(disk)
      #expect(try await ask("GET", "a-0", reader, port).body == Self.body)
      #expect(try await ask("PUT", "new", token, port).problem == "storageFull")
      #expect(try await tool(disk, "list").lines.count == 3)
      let revoked = try await tool(disk, "revoke", reader.id)
      #expect(revoked.status == 0, "\(revoked)")
      #expect(try await ask("GET", "a-0", reader, port).problem == "tokenRevoked")
      #expect(try await ask("DELETE", "a-1", token, port).status == 204)
      #expect(try await ask("GET", "a-1", token, port).status == 404)
      let deleted = try await tool(disk, "delete", other.space)
      #expect(deleted.status == 0, "\(deleted)")
      #expect(try await ask("GET", "other", other, port).problem == "noSuchSpace")
      // What that has needed is not there for puts.
      #expect(try await ask("PUT", "new", token, port).problem == "storageFull")
      #expect(relay.errorText.contains("disk") && relay.errorText.contains("is full"), "\(relay.errorText)")

      try disk.empty()
      #expect(try await ask("PUT", "new", token, port).status == 201)
      for number in 0..<count where number != 1 {
        #expect(try await ask("GET", "a-\(number)", token, port).body == Self.body)
      }
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
      // And once more, now that the reserve is there again.
      (relay, port) = try await start(disk)
      #expect(!relay.errorText.contains("fault="))
      #expect(try await ask("GET", "new", token, port).body == Self.body)
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
    }
  }
#endif
