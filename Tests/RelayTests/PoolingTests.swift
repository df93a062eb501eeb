#if Postgres
  import Foundation
  import Synchronization
  import TallyRelayServer
  import TallySync
  import Testing

  /// A pooler between a relay and its database: which work, and that others are refused with what to do about it.
  @Suite(.cleansUp, .serialized, .timeLimit(.minutes(5))) struct PoolingTests {
    /// Why a database is refused; nil if it is not.
    private func refusal(
      _ url: String, for purpose: RelayStore.Purpose = .serving, patience: Duration = .seconds(60)
    ) async throws -> RelayStoreError? {
      var settings = PostgresRelayStore.Settings()
      settings.poolerPatience = patience
      do {
        let store = try await PostgresRelayStore(url, for: purpose, settings)
        store.close()
        return nil
      } catch let error as RelayStoreError {
        return error
      }
    }

    /// The same session for all, one more for each statement, and a few in turn.
    @Test(arguments: [1, 7, 8, Int.max], [RelayStore.Purpose.serving, .administration])
    func aPoolerThatSharesSessionsIsRefused(_ sessions: Int, _ purpose: RelayStore.Purpose) async throws {
      let pooler = try FakePooler { _, question in "\(1_000 + question % sessions)" }
      defer { pooler.stop() }
      let error = try await refusal(pooler.url, for: purpose)
      #expect(error?.code == .pooled && error?.isPermanent == true)
      #expect(error?.message.contains("pool_mode = session") == true)
    }

    /// It is asked as many questions as there are to be sessions, and has one fewer.
    @Test func aPoolerWithTooFewSessionsIsRefused() async throws {
      let pooler = try FakePooler { connection, _ in connection < 6 ? "\(1_000 + connection)" : nil }
      defer { pooler.stop() }
      let error = try await refusal(pooler.url, patience: .seconds(1))
      #expect(error?.code == .pooled && error?.message.contains("7 at a time") == true, "\(String(describing: error))")
    }

    @Test(
      .enabled(if: PgBouncer.isAvailable, "no PgBouncer is installed (Debian: pgbouncer)"),
      arguments: ["transaction", "statement"])
    func pgBouncerThatKeepsNoSessionsIsRefused(_ mode: String) async throws {
      let cluster = try await PostgresCluster.shared()
      let database = try #require(try await StoragePlace(.postgres, in: cluster).database)
      let name = try await PostgresCluster.sql("SELECT current_database()", in: database)
      let pooler = try await PgBouncer.start(before: cluster, mode)
      for purpose in [RelayStore.Purpose.serving, .administration] {
        #expect(try await refusal(pooler.url(name), for: purpose)?.code == .pooled, "\(purpose)")
      }
      // Nothing was made.
      let schemas = "SELECT COUNT(*) FROM pg_namespace WHERE nspname = 'tally_relay'"
      #expect(try await PostgresCluster.sql(schemas, in: database) == "0")

      let folder = try RelayFixture.newFolder()
      let refused = try await Tool.run("relay", "--postgres", pooler.url(name), "--listen", "127.0.0.1:0", in: folder)
      #expect(refused.status == 77 && refused.output.isEmpty, "\(refused)")
      #expect(refused.errors.contains("pool_mode = session"), "\(refused)")
    }

    /// Two instances behind it tell each other, which `LISTEN` is needed for.
    @Test(.enabled(if: PgBouncer.isAvailable, "no PgBouncer is installed (Debian: pgbouncer)"))
    func aRelayWorksBehindPgBouncerInSessionMode() async throws {
      let cluster = try await PostgresCluster.shared()
      let place = try await StoragePlace(.postgres, in: cluster)
      let name = try await PostgresCluster.sql("SELECT current_database()", in: try #require(place.database))
      let pooler = try await PgBouncer.start(before: cluster, "session")
      func relay() async throws -> RelayFixture {
        try await RelayFixture.start(
          in: place,
          open: { _, state in
            var settings = PostgresRelayStore.Settings()
            settings.comparison = .seconds(3_600)
            settings.time = { state.now }
            return try await PostgresRelayStore(pooler.url(name), for: .serving, settings)
          })
      }
      let (one, other) = (try await relay(), try await relay())
      let token = try await one.token()
      let (here, there) = (try one.mailbox(token), try other.mailbox(token))
      for name in ["a", "b", "c"] {
        let cursor = try await there.changes(after: nil).cursor
        async let waiting: Void = there.wait(after: cursor)
        _ = try await here.put(MailboxUpload(name: name, bytes: Array(name.utf8)))
        try await waiting
        #expect(try await there.changes(after: nil).items.map(\.name).contains(name))
      }
      try await one.stop()
      try await other.stop()
    }

    @Test(.enabled(if: PgBouncer.isAvailable, "no PgBouncer is installed (Debian: pgbouncer)"))
    func pgBouncerWithTooFewSessionsIsRefused() async throws {
      let cluster = try await PostgresCluster.shared()
      let database = try #require(try await StoragePlace(.postgres, in: cluster).database)
      let name = try await PostgresCluster.sql("SELECT current_database()", in: database)
      let pooler = try await PgBouncer.start(before: cluster, "session", sessions: 3)
      let error = try await refusal(pooler.url(name), patience: .seconds(1))
      #expect(error?.code == .pooled && error?.message.contains("default_pool_size") == true)
    }
  }

  /// Speaks as much of PostgreSQL's protocol as a first question needs, and answers it as a test says. The numbers that
  /// it gives its clients for the server's process are its own, as a pooler's are.
  final class FakePooler: Sendable {
    private let server: ScriptedServer

    /// `answer` is given the number of the connection and that of the question, of all connections together; if it
    /// says nothing, neither does the server.
    init(_ answer: @escaping @Sendable (_ connection: Int, _ question: Int) -> String?) throws {
      let questions = Counter()
      server = try ScriptedServer { client, number in
        guard client.message(hasKind: false) != nil else { return }
        client.send(Self.message("R", [0, 0, 0, 0]))
        client.send(Self.message("K", Self.bytes(77) + Self.bytes(Int32(number))))
        client.send(Self.message("Z", [0x49]))
        while let (kind, _) = client.message(hasKind: true) {
          guard kind == UInt8(ascii: "Q") else { return }
          guard let text = answer(number, questions.next()) else {
            client.waitForEnd()
            return
          }
          client.send(Self.message("T", Self.column))
          client.send(Self.message("D", Self.row(text)))
          client.send(Self.message("C", Array("SELECT 1\0".utf8)))
          client.send(Self.message("Z", [0x49]))
        }
      }
    }

    var url: String { "postgresql://tally@127.0.0.1:\(server.port)/tally?sslmode=disable&gssencmode=disable" }

    func stop() { server.stop() }

    /// One column of integers, as text.
    private static var column: [UInt8] {
      var bytes: [UInt8] = [0, 1]
      bytes += Array("process\0".utf8)
      bytes += [0, 0, 0, 0, 0, 0]
      bytes += Self.bytes(23)
      bytes += [0, 4, 255, 255, 255, 255, 0, 0]
      return bytes
    }

    private static func row(_ text: String) -> [UInt8] {
      var bytes: [UInt8] = [0, 1]
      bytes += Self.bytes(Int32(text.utf8.count))
      bytes += Array(text.utf8)
      return bytes
    }

    private static func bytes(_ number: Int32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    private static func message(_ kind: Unicode.Scalar, _ content: [UInt8]) -> [UInt8] {
      [UInt8(ascii: kind)] + bytes(Int32(content.count + 4)) + content
    }
  }

  private final class Counter: Sendable {
    private let count = Mutex(0)

    func next() -> Int {
      count.withLock { count in
        defer { count += 1 }
        return count
      }
    }
  }
#endif
