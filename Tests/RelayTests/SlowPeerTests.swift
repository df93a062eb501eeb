#if Relay
  import Foundation
  import Testing

  /// Two thousand connections that send half a header, a body byte by byte, or never read what they have asked for.
  @Suite(.cleansUp, .serialized, .timeLimit(.minutes(10))) struct SlowPeerTests {
    private static let peers = 2_000
    private static let followersOfAToken = 16
    /// The relay's memory may grow by so much: 48 KiB for each of them.
    private static let mostKibibytes = peers * 48
    /// Below this a p99 on two busy cores says more about who else was scheduled than about the relay, in milliseconds.
    private static let noise = 15.0

    private struct Token: Decodable, Sendable {
      let space: String
      let token: String
    }

    private func token(_ space: String? = nil, in folder: URL) async throws -> Token {
      let made =
        if let space {
          try await Tool.run("relay", "token", "--data", "relay.sqlite", "--space", space, "--json", in: folder)
        } else {
          try await Tool.run("relay", "token", "--data", "relay.sqlite", "--json", in: folder)
        }
      return try JSONDecoder().decode(Token.self, from: Data(made.output.utf8))
    }

    private func start(in folder: URL) async throws -> (RelayProcess, port: Int) {
      let (relay, line) = try await RelayProcess.start(
        "relay", "--data", "relay.sqlite", "--listen", "127.0.0.1:0", "--rate", "1000000", in: folder)
      return (relay, try #require(Int(line.split(separator: ":").last ?? "")))
    }

    /// A good client's p99 is at most twice what it is without them, or some milliseconds; the relay's memory is
    /// bounded, bodies that come too slowly are refused, and the relay ends in order.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status"), "needs /proc"))
    func slowPeersSlowNobodyElse() async throws {
      let (folder, elsewhere) = (try RelayFixture.newFolder(), try RelayFixture.newFolder())
      let (relay, port) = try await start(in: folder)
      // One that has no other clients, on the same machine at the same time.
      let (beside, besidePort) = try await start(in: elsewhere)
      let (good, noisy, alone) = (
        try await token(in: folder), try await token(in: folder), try await token(in: elsewhere)
      )
      var followers: [String] = []
      while followers.count <= Self.peers / 3 {
        let token = try await token(noisy.space, in: folder).token
        followers += Array(repeating: token, count: Self.followersOfAToken)
      }
      let (idle, loaded, grown, endings) = try await RawHTTP.onThread { [followers] in
        let (client, besideClient) = (try GoodClient(port), try GoodClient(besidePort))
        _ = try client.p99(200, "warm", 320, good.space, good.token) {}
        let before = relay.memory ?? 0
        let slow = try SlowPeers(Self.peers, port, noisy.space, writer: noisy.token, followers: followers)
        // Each of those who follow is owed 1.2 MB, which nobody reads.
        _ = try client.p99(100, "noise", 12_000, noisy.space, noisy.token) {}
        // Other work slows one sample or the other; the best of five, taken in turn, is the relay's own, and on a
        // machine that is busy throughout the best of some more.
        var (idle, loaded) = (Double.infinity, Double.infinity)
        for round in 0..<20 where round < 5 || loaded > max(2 * idle, Self.noise) {
          let name = "round\(round)"
          idle = min(idle, try besideClient.p99(200, name, 320, alone.space, alone.token) { slow.dribble() })
          loaded = min(loaded, try client.p99(200, name, 320, good.space, good.token) { slow.dribble() })
        }
        let grown = (relay.memory ?? .max) - before
        return (idle, loaded, grown, slow.endings(within: .seconds(60)))
      }
      #expect(
        loaded <= max(2 * idle, Self.noise), "p99 of \(idle) ms alone, \(loaded) ms with \(Self.peers) slow peers")
      #expect(await beside.end(SIGTERM) == 0, "\(beside.errorText)")
      #expect(grown <= Self.mostKibibytes, "\(grown) KiB more")
      // Whoever says something between the tenth and the twelfth second is answered; the others are closed.
      #expect(endings.open == 0 && endings.refused > 0, "\(endings)")
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
    }
  }
#endif
