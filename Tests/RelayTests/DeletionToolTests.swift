#if Relay
  import Foundation
  import TallyRelay
  import Testing

  /// `tally relay delete`, `--keep` and `list`, beside a relay that serves.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct DeletionToolTests {
    private func status(_ base: String, _ space: String, _ token: String) async throws -> RawHTTP.Answer {
      let port = try #require(Int(base.split(separator: ":").last ?? ""))
      return try await RawHTTP.send("GET", "/v1/spaces/\(space)", ["Authorization": "Bearer \(token)"], port: port)
    }

    private func serve(_ place: StoragePlace, keep: String) async throws -> (RelayProcess, String) {
      let options = try place.options()
      let (relay, line) = try await RelayProcess.start(
        "relay", options[0], options[1], "--listen", "127.0.0.1:0", "--keep", keep, in: place.folder)
      return (relay, "http://\(line.dropFirst("listening on ".count))")
    }

    @Test(arguments: StorageKind.available) func aSpaceIsDeletedAndRestored(_ kind: StorageKind) async throws {
      let place = try await StoragePlace(kind)
      let options = try place.options()
      func tool(_ command: String, _ arguments: String...) async throws -> Tool.Outcome {
        // An array has no place in variadic arguments.
        switch arguments.count {
        case 0: try await Tool.run("relay", command, options[0], options[1], in: place.folder)
        case 1: try await Tool.run("relay", command, options[0], options[1], arguments[0], in: place.folder)
        default:
          try await Tool.run("relay", command, options[0], options[1], arguments[0], arguments[1], in: place.folder)
        }
      }
      let (relay, base) = try await serve(place, keep: "12h")
      let made = try JSONDecoder().decode(
        [String: String].self, from: Data(try await tool("token", "--json").output.utf8))
      let (space, token) = (try #require(made["space"]), try #require(made["token"]))
      #expect(try await tool("token").status == 0)
      #expect(try await status(base, space, token).status == 200)

      let deleted = try await tool("delete", space)
      #expect(deleted.status == 0 && deleted.output == "" && deleted.errors == "", "\(deleted)")
      #expect(try await status(base, space, token).problem == "noSuchSpace")
      let list = try await tool("list")
      #expect(list.lines.count == 2)
      #expect(list.lines.filter { $0.contains(" spaceDeleted=20") }.map { $0.contains(space) } == [true])
      let json = try await tool("list", "--json")
      #expect(json.lines.filter { $0.contains("\"spaceDeleted\":\"20") }.count == 1)
      for refused in [
        try await tool("delete", space), try await tool("delete", "0000"),
        try await tool("delete", "0000", "--restore"),
        try await tool("token", "--space", space),
      ] {
        #expect(refused.status == 66 && refused.errors.contains("there is no such space"), "\(refused)")
      }

      #expect(try await tool("delete", space, "--restore").status == 0)
      #expect(try await status(base, space, token).status == 200)
      #expect(try await !tool("list").output.contains("spaceDeleted"))
      #expect(try await tool("delete", space).status == 0)
      #expect(await relay.end(SIGTERM) == 0)

      // A relay that keeps nothing removes it, and its token; then nothing can be restored.
      let (sweeping, other) = try await serve(place, keep: "0")
      var answer = RawHTTP.Answer([])
      for _ in 0..<20_000 where answer.status != 401 { answer = try await status(other, space, token) }
      #expect(answer.problem == "unauthenticated")
      #expect(try await tool("delete", space, "--restore").status == 66)
      let rest = try await tool("list")
      #expect(rest.lines.count == 1 && !rest.output.contains(space))
      #expect(await sweeping.end(SIGTERM) == 0)
    }

    @Test func durationsAndMissingFilesAreRefused() async throws {
      let folder = try RelayFixture.newFolder()
      for keep in ["x", "7w", "-1d", "1.5h", "00"] {
        let refused = try await Tool.run("relay", "--data", "r", "--listen", "nowhere:x", "--keep=\(keep)", in: folder)
        #expect(refused.status == 64 && refused.errors.contains("--keep is"), "\(keep): \(refused)")
      }
      // These are not what is wrong.
      for keep in ["90s", "30m", "12h", "7d", "0"] {
        let refused = try await Tool.run("relay", "--data", "r", "--listen", "nowhere:x", "--keep", keep, in: folder)
        #expect(refused.status == 64 && !refused.errors.contains("--keep is"), "\(keep): \(refused)")
      }
      #expect(try await Tool.run("relay", "delete", "--data", "none", "0000", in: folder).status == 66)
      #expect(try await Tool.run("relay", "delete", "--data", "none", in: folder).status == 64)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }
  }
#endif
