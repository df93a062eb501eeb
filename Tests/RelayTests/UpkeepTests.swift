#if Relay
  import Foundation
  import GRDB
  import TallyRelayProtocol
  @testable import TallyRelayServer
  import TallyWire
  import Testing

  /// What a relay takes from the machine: its log, its memory, its place among those who listen, and who may read it.
  @Suite(.cleansUp, .serialized, .timeLimit(.minutes(5))) struct UpkeepTests {
    private let folder: URL
    private var path: String { folder.appendingPathComponent("relay.sqlite").path }

    init() throws { folder = try RelayFixture.newFolder() }

    private func logBytes() throws -> Int {
      guard FileManager.default.fileExists(atPath: path + "-wal") else { return 0 }
      return try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int ?? -1
    }

    /// The log grows with the largest transaction, and is small again afterwards; at the end there is none.
    @Test func theLogShrinks() async throws {
      let store = try RelayStore(path: path, for: .serving)
      let token = try await store.makeToken(space: nil, role: .writer)
      let space = try #require(try await store.bearer(token.token)).space
      try await store.pool.write { db in
        for number in 0..<100 {
          try db.execute(
            sql: "INSERT INTO chunk(space, name, start, bytes) VALUES(?, 'x', ?, zeroblob(262144))",
            arguments: [space, number * 262_144])
        }
      }
      #expect(try logBytes() > 20 << 20)
      for number in 0..<3 { _ = try await store.put("e-\(number)", [1], in: space, after: nil) }
      #expect(try logBytes() <= 8 << 20)
      try store.close()
      #expect(try logBytes() == 0)
      let again = try RelayStore(path: path, for: .serving)
      #expect(try await again.entry("e-2", in: space).body == [1])
      try again.close()
    }

    /// A file that others may read is served, and its owner is told.
    @Test func aFileThatOthersMayReadIsNamed() async throws {
      let store = try RelayStore(path: path, for: .serving)
      #expect(store.warnings.isEmpty)
      try store.close()
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
      let relay = try await RelayFixture.start(open: { [path] _, _ in try RelayStore(path: path, for: .serving) })
      #expect(relay.log.contains { $0.hasSuffix("fault=others can read \(path); chmod 600 keeps it") }, "\(relay.log)")
      try await relay.stop()
    }

    /// While the relay takes no connections, as many wait as the system permits.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/sys/net/core/somaxconn"), "needs Linux"))
    func manyConnectionsMayWait() async throws {
      let (relay, line) = try await RelayProcess.start(
        "relay", "--data", "relay.sqlite", "--listen", "127.0.0.1:0", in: folder)
      let port = try #require(Int(line.split(separator: ":").last ?? ""))
      let most = String(
        decoding: try #require(FileManager.default.contents(atPath: "/proc/sys/net/core/somaxconn")), as: UTF8.self)
      let wanted = min(1_000, try #require(Int(most.trimmingCharacters(in: .whitespacesAndNewlines))))
      kill(relay.pid, SIGSTOP)
      defer { kill(relay.pid, SIGCONT) }
      let connected = try await RawHTTP.onThread {
        var peers: [Int32] = []
        defer { for peer in peers { close(peer) } }
        do { for _ in 0..<wanted { peers.append(try RawHTTP.connect(port, tries: 1)) } } catch let failure
          as RawHTTP.Failure where failure.number == ETIMEDOUT
        {}
        return peers.count
      }
      #expect(connected == wanted)
      kill(relay.pid, SIGCONT)
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
    }

    private struct Token: Decodable {
      let space: String
      let token: String
    }

    /// A minute after a burst of puts the process has at most 1.3 times the memory that it had.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status"), "needs /proc"))
    func memoryIsGivenBack() async throws {
      let (relay, line) = try await RelayProcess.start(
        "relay", "--data", "relay.sqlite", "--listen", "127.0.0.1:0", "--rate", "1000000", in: folder)
      let port = try #require(Int(line.split(separator: ":").last ?? ""))
      let made = try await Tool.run("relay", "token", "--data", "relay.sqlite", "--json", in: folder)
      let token = try JSONDecoder().decode(Token.self, from: Data(made.output.utf8))
      let body = [UInt8](repeating: 1, count: 1 << 20)
      let fields = [
        "Authorization": "Bearer \(token.token)", "Content-Digest": RelayDigest.field(SHA256.hash(body)),
      ]
      let put: @Sendable (String) async throws -> Void = { name in
        let answer = try await RawHTTP.send(
          "PUT", "/v1/spaces/\(token.space)/entries/\(name)", fields, body, port: port)
        #expect(answer.status == 201, "\(answer.head)")
      }
      // What any first request needs is not the burst's.
      try await put("first")
      let (before, whole) = (try #require(relay.ownMemory), try #require(relay.memory))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for writer in 0..<32 {
          group.addTask { for number in 0..<10 { try await put("e-\(writer)-\(number)") } }
        }
        try await group.waitForAll()
      }
      let burst = try #require(relay.ownMemory)
      #expect(burst > before)
      try await Looking.until("the memory is given back: \(before) KiB before, \(burst) after", within: .seconds(60)) {
        relay.ownMemory.map { ($0 - before) * 10 <= whole * 3 } ?? false
      }
      #expect(await relay.end(SIGTERM) == 0, "\(relay.errorText)")
    }
  }
#endif
