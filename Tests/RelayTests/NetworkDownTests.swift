#if Relay
  import Foundation
  import Testing

  /// A network between the relay and its clients that goes away, without a word to either, and comes back.
  @Suite(
    .enabled(if: NetworkPair.isAvailable, "only root on Linux may make a network"), .serialized,
    .timeLimit(.minutes(60)))
  struct NetworkDownTests {
    /// How often: TALLY_NETWORK_CUTS, or twice. Cuts last 2 to 20 seconds; the first two, 2 and 9.
    private static let cuts = ProcessInfo.processInfo.environment["TALLY_NETWORK_CUTS"].flatMap { Int($0) } ?? 2

    /// Two stores watch; both write while the network is away. Ten seconds after its return at most they are equal.
    @Test func storesAreEqualSoonAfterTheNetworkIsBack() async throws {
      let folder = try RelayFixture.newFolder()
      let network = try NetworkPair()
      let schema = #"{"entities":[{"type":"Score","fields":{"name":"text"}}]}"#
      try Data(schema.utf8).write(to: folder.appendingPathComponent("schema.json"))
      let (relay, line) = try await RelayProcess.start(
        "relay", "--data", "relay.sqlite", "--listen", "\(network.address):0", "--insecure", in: folder,
        after: network.prefix)
      let base = "http://\(line.dropFirst("listening on ".count))"
      let token = try await Tool.run("relay", "token", "--data", "relay.sqlite", "--url", base, in: folder)
      let space = try #require(token.lines.first)
      let file = folder.appendingPathComponent("token")
      try Data(token.output.utf8).write(to: file)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
      for name in ["a", "b"] {
        #expect(try await Tool.run("new", name, "--schema", "schema.json", in: folder).status == 0)
        try await put("start-\(name)", into: name, folder)
      }
      let watching = try ["a", "b"].map { name in
        try RelayProcess.launch("sync", name, "--via", space, "--token-file", "token", "--watch", in: folder)
      }
      try await untilEqual(["start-a", "start-b"], folder, within: .seconds(30))
      for cut in 0..<Self.cuts {
        try network.down()
        for name in ["a", "b"] { try await put("cut\(cut)-\(name)", into: name, folder) }
        // How long the network is away is what is tested; nothing can be waited for meanwhile.
        try await Task.sleep(for: .seconds(2 + cut * 7 % 19))
        try network.up()
        try await untilEqual(["cut\(cut)-a", "cut\(cut)-b"], folder, within: .seconds(10))
      }
      for process in watching { #expect(await process.end(SIGTERM) == 0, "\(process.errorText)") }
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
      try network.remove()
      try FileManager.default.removeItem(at: folder)
    }

    private func put(_ score: String, into name: String, _ folder: URL) async throws {
      #expect(try await Tool.run("put", name, "Score|~|\(score)", "name=\(score)", in: folder).status == 0)
    }

    private func untilEqual(_ scores: [String], _ folder: URL, within limit: Duration) async throws {
      let end = ContinuousClock.now + limit
      var dumps: [String] = []
      repeat {
        dumps = try await [Tool.run("dump", "a", in: folder).output, Tool.run("dump", "b", in: folder).output]
        if dumps[0] == dumps[1], scores.allSatisfy({ dumps[0].contains("Score|~|\($0)") }) { return }
      } while ContinuousClock.now < end
      Issue.record("not equal \(limit) later: \(dumps)")
    }
  }
#endif
