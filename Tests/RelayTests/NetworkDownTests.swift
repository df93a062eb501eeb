#if Relay
  import Foundation
  import Testing

  /// A network between the relay and its clients that goes away, without a word to either, and comes back.
  @Suite(
    .cleansUp,
    .enabled(if: NetworkPair.isAvailable, "only root on Linux may make a network"), .serialized,
    .timeLimit(800, perHundred: Rounds.cuts))
  struct NetworkDownTests {
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
      for cut in 0..<Rounds.cuts {
        // What was lost in the cut before counts until it has come through, and then no longer.
        try await Looking.until("what was lost has come through", within: .seconds(240)) {
          try watching.allSatisfy { try network.resentPackets(of: $0.pid) == 0 }
        }
        // Who waits for an answer when the network goes has nothing to send again, and asks after a minute and a half.
        try await untilQuiet(relay)
        let before = try vainTries(network, watching)
        try network.down()
        for name in ["a", "b"] { try await put("cut\(cut)-\(name)", into: name, folder) }
        // Each further try comes after about twice the time: cuts last from a second to some twenty.
        for (index, tries) in before.enumerated() {
          try await Looking.until("store \(index) has tried in vain", within: .seconds(480)) {
            try vainTries(network, watching)[index] >= tries + 2 + cut % 4
          }
        }
        try network.up()
        try await untilEqual(["cut\(cut)-a", "cut\(cut)-b"], folder, within: .seconds(10))
        for process in watching { #expect(process.isRunning, "\(process.errorText)") }
      }
      for process in watching { #expect(await process.end(SIGTERM) == 0, "\(process.errorText)") }
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
    }

    /// Returns when the relay has had no request for a second.
    private func untilQuiet(_ relay: RelayProcess) async throws {
      var (seen, looks) = (relay.errorText, 0)
      try await Looking.until("nobody asks for anything", within: .seconds(240)) {
        let text = relay.errorText
        (seen, looks) = (text, text == seen ? looks + 1 : 0)
        return looks >= 50
      }
    }

    /// How often each store has tried to reach the relay in vain so far: packets that the system has sent again for its
    /// connections, and failures of which it has told.
    private func vainTries(_ network: NetworkPair, _ watching: [RelayProcess]) throws -> [Int] {
      try watching.map { process in
        try process.errorText.components(separatedBy: "trying again").count - 1 + network.resentPackets(of: process.pid)
      }
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
