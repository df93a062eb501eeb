#if Relay
  import Foundation
  import Testing

  /// Two thousand connections that send half a header, a body byte by byte, or never read what they have asked for.
  @Suite(.cleansUp, .serialized, .timeLimit(.minutes(10))) struct SlowPeerTests {
    private static let peers = 2_000
    private static let followersOfAToken = 16
    /// The relay's memory may grow by so much: 48 KiB for each of them.
    private static let mostKibibytes = peers * 48
    /// The most rounds of which the best counts. A wait is found that one put in a hundred has in each of them; a
    /// machine that is busy throughout gives a round in which none has.
    private static let rounds = 20
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

    /// Whether puts wait for something else than the machine.
    private static func isSlow(_ loaded: Double, beside idle: Double) -> Bool { loaded > max(2 * idle, noise) }

    /// The p99 of a client whose relay has others to serve, and of one whose relay has none. Other work slows one
    /// sample or the other; the best of five, taken in turn, is the relay's own, and on a machine that is busy
    /// throughout the best of some more, as long as that is not what is expected.
    private static func measure(
      _ loaded: (client: GoodClient, token: Token), _ idle: (client: GoodClient, token: Token), isSlow expected: Bool,
      meanwhile: () -> Void
    ) throws -> (idle: Double, loaded: Double) {
      func p99(_ of: (client: GoodClient, token: Token), _ name: String) throws -> Double {
        try of.client.p99(200, name, 320, of.token.space, of.token.token, meanwhile: meanwhile)
      }
      var best = (idle: Double.infinity, loaded: Double.infinity)
      for round in 0..<rounds where round < 5 || isSlow(best.loaded, beside: best.idle) != expected {
        best.idle = min(best.idle, try p99(idle, "round\(round)"))
        best.loaded = min(best.loaded, try p99(loaded, "round\(round)"))
      }
      return best
    }

    /// A relay that stands still for a twentieth of a second again and again is found out: no round is without, however
    /// many a busy machine takes for a quick one of the other relay.
    @Test func aRelayThatStandsStillIsFoundOut() async throws {
      let (folder, elsewhere) = (try RelayFixture.newFolder(), try RelayFixture.newFolder())
      let (relay, port) = try await start(in: folder)
      let (beside, besidePort) = try await start(in: elsewhere)
      let (slow, alone) = (try await token(in: folder), try await token(in: elsewhere))
      let (idle, loaded) = try await RawHTTP.onThread { [pid = relay.pid] in
        let (over, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        Thread.detachNewThread {
          repeat {
            for signal in [SIGSTOP, SIGCONT] {
              kill(pid, signal)
              usleep(50_000)
            }
          } while over.wait(timeout: .now()) == .timedOut
          ended.signal()
        }
        defer {
          over.signal()
          ended.wait()
        }
        return try Self.measure(
          (try GoodClient(port), slow), (try GoodClient(besidePort), alone), isSlow: true
        ) {}
      }
      #expect(Self.isSlow(loaded, beside: idle), "p99 of \(idle) ms alone, \(loaded) ms where it stands still")
      #expect(await beside.end(SIGTERM) == 0)
      #expect(await relay.end(SIGTERM) == 0)
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
        let (idle, loaded) = try Self.measure(
          (client, good), (besideClient, alone), isSlow: false
        ) { slow.dribble() }
        let grown = (relay.memory ?? .max) - before
        return (idle, loaded, grown, slow.endings(within: .seconds(60)))
      }
      #expect(
        !Self.isSlow(loaded, beside: idle), "p99 of \(idle) ms alone, \(loaded) ms with \(Self.peers) slow peers")
      #expect(await beside.end(SIGTERM) == 0, "\(beside.errorText)")
      #expect(grown <= Self.mostKibibytes, "\(grown) KiB more")
      // Whoever says something between the tenth and the twelfth second is answered; the others are closed.
      #expect(endings.open == 0 && endings.refused > 0, "\(endings)")
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
    }
  }
#endif
