#if Relay
  import Foundation
  import TallyRelay
  import TallySync
  import Testing

  /// `tally relay` and `tally sync --via http://…`, as people use them.
  @Suite(.cleansUp, .timeLimit(.minutes(5))) struct RelayToolTests {
    private let folder: URL

    init() throws {
      folder = try RelayFixture.newFolder()
      let schema = #"{"entities":[{"type":"Score","fields":{"name":"text"}}]}"#
      try Data(schema.utf8).write(to: folder.appendingPathComponent("schema.json"))
    }

    private func store(_ name: String) async throws {
      #expect(try await Tool.run("new", name, "--schema", "schema.json", in: folder).status == 0)
      #expect(try await Tool.run("put", name, "Score|~|\(name)", "name=\(name)", in: folder).status == 0)
    }

    private func write(_ text: String, to name: String) throws {
      try Data(text.utf8).write(to: folder.appendingPathComponent(name))
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: folder.appendingPathComponent(name).path)
    }

    @Test func twoStoresSyncThroughTheTool() async throws {
      let (relay, line) = try await RelayProcess.start(
        "relay", "--data", "relay.sqlite", "--listen", "127.0.0.1:0", "--log", "json", in: folder)
      #expect(line.hasPrefix("listening on 127.0.0.1:"))
      let base = "http://\(line.dropFirst("listening on ".count))"
      let token = try await Tool.run("relay", "token", "--data", "relay.sqlite", "--url", base, in: folder)
      #expect(token.status == 0 && token.lines.count == 2)
      let space = try #require(token.lines.first)
      try write(token.output, to: "token")
      for name in ["a", "b"] { try await store(name) }
      for name in ["a", "b", "a"] {
        let sync = try await Tool.run("sync", name, "--via", space, "--token-file", "token", in: folder)
        #expect(sync.status == 0 && sync.errors == "", "\(sync)")
      }
      let dumps = [
        try await Tool.run("dump", "a", in: folder).output, try await Tool.run("dump", "b", in: folder).output,
      ]
      #expect(dumps[0] == dumps[1] && dumps[0].contains("Score|~|b"))
      let quiet = try await Tool.run("sync", "a", "--via", space, "--token-file", "token", in: folder)
      #expect(quiet.lines == ["took 0 files: 0 changes, 0 conflicts", "put 0 files, 0 bytes"])

      // A second server on the file is refused, and the first one ends in order.
      let second = try await Tool.run("relay", "--data", "relay.sqlite", "--listen", "127.0.0.1:0", in: folder)
      #expect(second.status == 75 && second.errors.contains("another tally relay serves from this file"))
      #expect(await relay.end(SIGTERM) == 0)
      let secret = try #require(token.lines.last)
      #expect(!relay.errorText.contains(secret) && relay.errorText.contains(#""route":"putEntry","status":201"#))
    }

    /// With a certificate a relay speaks TLS and nothing else.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "needs python3"))
    func aRelayWithACertificateSpeaksTLS() async throws {
      let certificates = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("TransportTests/Certificates")
      func file(_ name: String) -> String { certificates.appendingPathComponent(name).path }
      let (relay, line) = try await RelayProcess.start(
        "relay", "--data", "relay.sqlite", "--listen", "127.0.0.1:0", "--certificate", file("server.pem"), "--key",
        file("server.key"), in: folder)
      let port = try #require(Int(line.split(separator: ":").last ?? ""))
      let made = try await Tool.run(
        "relay", "token", "--data", "relay.sqlite", "--url", "https://localhost:\(port)", in: folder)
      let (space, token) = (try #require(made.lines.first), try #require(made.lines.last))
      let client = Process()
      client.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
      client.arguments = [
        "-c",
        """
        import ssl, sys, urllib.request
        address = sys.argv[1].replace("/s/", "/v1/spaces/")
        request = urllib.request.Request(address, headers={"Authorization": "Bearer " + sys.argv[2]})
        answer = urllib.request.urlopen(request, context=ssl.create_default_context(cafile=sys.argv[3]))
        sys.exit(0 if answer.status == 200 and b'"entries"' in answer.read() else 1)
        """, space, token, file("authority.pem"),
      ]
      try client.run()
      client.waitUntilExit()
      #expect(client.terminationStatus == 0)
      // Neither whoever speaks plain HTTP gets an answer, nor does the tool trust what this machine does not.
      let plain = try? await RawHTTP.send("GET", "/v1/spaces/a", port: port)
      #expect(plain.map(\.status) ?? 0 == 0)
      try await store("a")
      try write(made.output, to: "token")
      let sync = try await Tool.run("sync", "a", "--via", space, "--token-file", "token", in: folder)
      #expect(sync.status == 69 && !sync.errors.contains(token), "\(sync)")
      #expect(await relay.end(SIGTERM) == 0)

      let wrong = try await Tool.run(
        "relay", "--data", "relay.sqlite", "--listen", "127.0.0.1:0", "--certificate", file("server.pem"), "--key",
        file("stranger.key"), in: folder)
      #expect(wrong.status == 65 && wrong.errors.contains("cannot be used"), "\(wrong)")
      let missing = try await Tool.run(
        "relay", "--data", "relay.sqlite", "--listen", "127.0.0.1:0", "--certificate", "nothing.pem", "--key",
        file("stranger.key"), in: folder)
      #expect(missing.status == 66 && missing.errors.contains("cannot read nothing.pem"), "\(missing)")
    }

    /// Every way of failing has its exit code, and none says the token.
    @Test func failuresHaveTheirCodes() async throws {
      try await store("a")
      try await RelayFixture.run { relay in
        let writer = try await relay.token()
        let reader = try await relay.token(writer.space, .reader)
        let small = try await relay.token(quota: 10)
        let unknown = "tally1_" + String(repeating: "A", count: 43)
        for (name, token) in [
          ("writer", writer.token), ("reader", reader.token), ("small", small.token), ("unknown", unknown),
        ] {
          try write("\(token)\n", to: name)
        }
        try write("no token", to: "malformed")
        let space = "\(relay.base)/s/\(writer.space)"
        let cases: [(via: String, token: String, status: Int32)] = [
          (space, "unknown", 77), (space, "reader", 77), (space, "small", 66), (space, "malformed", 65),
          ("\(relay.base)/s/\(small.space)", "small", 73), ("http://127.0.0.1:1/s/\(writer.space)", "writer", 69),
          ("http://127.0.0.1:\(relay.adminPort)/s/\(writer.space)", "writer", 76), (space, "missing", 66),
          ("\(relay.base)/nothing", "writer", 64), ("folder:/tmp", "writer", 64),
          ("http://127.0.0.1:65536/s/\(writer.space)", "writer", 64),
        ]
        for (via, token, status) in cases {
          let sync = try await Tool.run("sync", "a", "--via", via, "--token-file", token, in: folder)
          #expect(sync.status == status, "\(via) \(token): \(sync)")
          #expect(sync.errors.hasPrefix("tally: ") && !sync.errors.contains("tally1_"), "\(sync)")
        }
        #expect(try await Tool.run("sync", "a", "--via", space, in: folder).status == 64)
        let sync = try await Tool.run("sync", "a", "--via", space, "--token-file", "writer", in: folder)
        #expect(sync.status == 0, "\(sync)")
      }
    }

    @Test func tokensAreListedAndRevoked() async throws {
      let made = try await Tool.run(
        "relay", "token", "--data", "r", "--role", "reader", "--quota", "5G", "--expires", "90d", "--json", in: folder)
      let token = try JSONDecoder().decode([String: String].self, from: Data(made.output.utf8))
      let (id, space) = (try #require(token["id"]), try #require(token["space"]))
      #expect(token["url"] == "http://127.0.0.1:8480/s/\(space)")
      let second = try await Tool.run("relay", "token", "--data", "r", "--space", space, "--role", "admin", in: folder)
      #expect(second.status == 0)
      let list = try await Tool.run("relay", "list", "--data", "r", in: folder)
      #expect(list.lines.count == 2 && list.output.contains("\(id) \(space) role=reader created="))
      #expect(list.output.contains(" expires=") && !list.output.contains("tally1_"))
      #expect(try await Tool.run("relay", "revoke", "--data", "r", String(id.prefix(8)), in: folder).status == 0)
      let after = try await Tool.run("relay", "list", "--data", "r", "--json", in: folder)
      #expect(after.lines.filter { $0.contains("\"revoked\"") }.count == 1)
      #expect(try await Tool.run("relay", "revoke", "--data", "r", "0000", in: folder).status == 66)
      #expect(try await Tool.run("relay", "token", "--data", "r", "--space", "0000", in: folder).status == 66)
      #expect(try await Tool.run("relay", "list", "--data", "none", in: folder).status == 66)
      for expires in ["9223372036854775807", "106751991167300d", "36501d"] {
        let refused = try await Tool.run("relay", "token", "--data", "r", "--expires", expires, in: folder)
        #expect(refused.status == 64, "\(refused)")
      }
      #expect(try await Tool.run("relay", "revoke", "--data", "r", "", in: folder).status == 64)
      for arguments in [
        ["--listen", "127.0.0.1"], ["--listen", "0.0.0.0:0"], ["--admin", "0.0.0.0:0"], ["--log", "xml"],
        ["--listen", "nowhere"],
      ] {
        let refused = try await Tool.run("relay", "--data", "r", arguments[0], arguments[1], in: folder)
        #expect(refused.status == 64, "\(arguments): \(refused)")
      }
    }

    /// Who may not put, or finds no room, goes on receiving.
    @Test func whoMayNotPutGoesOnReceiving() async throws {
      try await RelayFixture.run { relay in
        let writer = try await relay.token()
        let reader = try await relay.token(writer.space, .reader)
        try write("\(writer.token)\n", to: "writer")
        try write("\(reader.token)\n", to: "reader")
        for name in ["a", "b"] { try await store(name) }
        let space = "\(relay.base)/s/\(writer.space)"
        let watching = try RelayProcess.launch(
          "sync", "b", "--via", space, "--token-file", "reader", "--watch", in: folder)
        var hasIt = false
        for number in 0..<300 where !hasIt {
          if number == 5 {
            _ = try await Tool.run("put", "a", "Score|~|late", "name=late", in: folder)
            #expect(try await Tool.run("sync", "a", "--via", space, "--token-file", "writer", in: folder).status == 0)
          }
          hasIt = try await Tool.run("get", "b", "Score|~|late", in: folder).status == 0
        }
        #expect(hasIt)
        #expect(await watching.end(SIGTERM) == 0, "\(watching.errorText)")
        #expect(watching.errorText.contains("the token's role does not allow that"), "\(watching.errorText)")
      }
    }

    /// Two that watch: what one writes, the other has without being asked.
    @Test func whoWatchesIsTold() async throws {
      try await RelayFixture.run { relay in
        let token = try await relay.token()
        try write("\(token.token)\n", to: "token")
        for name in ["a", "b"] { try await store(name) }
        let space = "\(relay.base)/s/\(token.space)"
        let watching = try ["a", "b"].map { name in
          try RelayProcess.launch("sync", name, "--via", space, "--token-file", "token", "--watch", in: folder)
        }
        var isEqual = false
        for number in 0..<200 where !isEqual {
          if number == 10 { _ = try await Tool.run("put", "a", "Score|~|late", "name=late", in: folder) }
          let dumps = try await [Tool.run("dump", "a", in: folder).output, Tool.run("dump", "b", in: folder).output]
          isEqual = dumps[0] == dumps[1] && dumps[1].contains("Score|~|late")
        }
        #expect(isEqual)
        for process in watching { #expect(await process.end(SIGTERM) == 0, "\(process.errorText)") }
      }
    }

    /// A network that asks people to sign in answers in the relay's place. Who has reached the relay before waits for
    /// it to come back.
    @Test func aWatchOutlivesWhatAnswersInTheRelaysPlace() async throws {
      var (relay, line) = try await RelayProcess.start(
        "relay", "--data", "relay.sqlite", "--listen", "127.0.0.1:0", in: folder)
      let place = String(line.dropFirst("listening on ".count))
      let port = try #require(place.split(separator: ":").last.flatMap { Int($0) })
      let token = try await Tool.run("relay", "token", "--data", "relay.sqlite", "--url", "http://\(place)", in: folder)
      let space = try #require(token.lines.first)
      try write(token.output, to: "token")
      for name in ["a", "b"] { try await store(name) }
      let watch = try RelayProcess.launch("sync", "a", "--via", space, "--token-file", "token", "--watch", in: folder)
      func pass(_ name: String) async throws -> String {
        _ = try await Tool.run("sync", "b", "--via", space, "--token-file", "token", in: folder)
        return try await Tool.run("dump", name, in: folder).output
      }
      try await Looking.until("the watch has synced", within: .seconds(60)) {
        try await pass("b").contains("Score|~|a")
      }
      #expect(await relay.end(SIGKILL) == -SIGKILL)
      let portal = try CannedServer(
        port: port, Array("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8))
      #expect(try await Tool.run("put", "a", "Score|~|late", "name=late", in: folder).status == 0)
      try await Looking.until("the watch has met the portal twice", within: .seconds(60)) {
        watch.errorText.components(separatedBy: "trying again").count > 2 && portal.requests.count >= 2
      }
      portal.stop()
      // The portal's last connection may still be there.
      try await Looking.until("the relay is back", within: .seconds(60)) {
        guard
          let (next, _) = try? await RelayProcess.start(
            "relay", "--data", "relay.sqlite", "--listen", place, in: folder)
        else { return false }
        relay = next
        return true
      }
      try await Looking.until("what was written meanwhile has left", within: .seconds(60)) {
        try await pass("b").contains("Score|~|late")
      }
      #expect(await watch.end(SIGTERM) == 0, "\(watch.errorText)")
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
    }
  }
#endif
