#if Relay
  import Foundation
  import TallyRelay
  import TallyRelayServer
  import TallySync
  import Testing

  /// A relay that starts again finds all its devices at its door.
  @Suite(.cleansUp, .serialized, .timeLimit(.minutes(5))) struct ReturnTests {
    /// The relay's memory may grow by so much for each of them, in KiB, beside what pages take.
    private static let perDevice = 48
    private static let pages = 64 << 10

    /// As many as may wait for a relay that takes no connections yet.
    private static let count: Int = {
      let data = FileManager.default.contents(atPath: "/proc/sys/net/core/somaxconn") ?? Data()
      let most = Int(String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
      return min(1_200, most ?? 100)
    }()

    private func start(_ place: StoragePlace, port: Int = 0) async throws -> (RelayProcess, port: Int) {
      let options = try place.options()
      let (relay, line) = try await RelayProcess.start(
        "relay", options[0], options[1], "--listen", "127.0.0.1:\(port)", in: place.folder)
      return (relay, try #require(Int(line.split(separator: ":").last ?? "")))
    }

    /// The relay is killed while all of them follow, ask and put. It starts again and stands still until all have
    /// connected and asked, so that no machine is too slow to make that one moment. Each is served, its memory stays
    /// bounded, nothing is missing, and the next entry is told to all who follow.
    @Test(
      .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status"), "needs /proc"),
      arguments: StorageKind.available)
    func allAreServedWhoReturnAtOnce(_ kind: StorageKind) async throws {
      let place = try await StoragePlace(kind)
      let owner = try await place.open(.administration)
      let first = try await owner.makeToken(space: nil, role: .writer, quota: nil, expires: nil)
      var tokens = [first.token]
      while tokens.count * 16 < Self.count {
        tokens.append(try await owner.makeToken(space: first.space, role: .writer, quota: nil, expires: nil).token)
      }
      try owner.close()
      let (before, port) = try await start(place)
      let (count, space) = (Self.count, first.space)
      let (open, left) = try await RawHTTP.onThread { [tokens] in
        let devices = ReturningDevices(count, port, space, tokens: tokens, "a")
        try devices.come()
        let open = try devices.serve(within: .seconds(60))
        kill(before.pid, SIGKILL)
        return (open, try devices.end(within: .seconds(60)))
      }
      #expect(open == 0 && left == 0)
      #expect(await before.end(SIGKILL) == -SIGKILL)

      let (relay, _) = try await start(place, port: port)
      let entries = 2 * (0..<count).count(where: ReturningDevices.isWriter) + 1
      let (unserved, refusals, deaf, grown) = try await RawHTTP.onThread { [tokens] in
        let devices = ReturningDevices(count, port, space, tokens: tokens, "b", awaiting: entries)
        var memory = relay.ownMemory ?? 0
        let start = memory
        kill(relay.pid, SIGSTOP)
        do { try devices.come() } catch {
          kill(relay.pid, SIGCONT)
          throw error
        }
        kill(relay.pid, SIGCONT)
        let unserved = try devices.serve(within: .seconds(60)) { memory = max(memory, relay.ownMemory ?? .max) }
        let last = ReturningDevices(3, port, space, tokens: tokens, "last")
        try last.come()
        let rest = try last.serve(within: .seconds(60))
        return (unserved + rest, devices.refusals, try devices.hear(within: .seconds(60)), memory - start)
      }
      #expect(unserved == 0, "\(unserved) of \(count) are not served; \(refusals) times one was sent away")
      #expect(deaf == 0, "\(deaf) hear nothing")
      #expect(grown <= Self.pages + count * Self.perDevice, "\(grown) KiB more")

      let mailbox = try RelayMailbox("http://127.0.0.1:\(port)/s/\(space)", token: first.token)
      #expect(try await mailbox.status().entries == entries)
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
    }
  }
#endif
