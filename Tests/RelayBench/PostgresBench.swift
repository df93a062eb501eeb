#if Postgres
  import Foundation
  import TallyRelayProtocol
  import TallyWire

  /// The same append on PostgreSQL, beside pgbench inserting the same row: the processor time of the relay and of all
  /// of PostgreSQL's processes, beside that of PostgreSQL alone. Then push from one instance to another.
  struct PostgresBench {
    let folder: URL

    func run(count: Int, spaces: Int, rate: Int, seconds: Int) async throws -> [Figure] {
      let server = try PostgresUnderLoad()
      let database = try server.database("relay")
      let relay = try await RelayUnderLoad(folder, "postgres", database: database)
      var figures: [Figure] = []
      for (writers, target) in [(1, "≤ 2.5"), (32, "≤ 1.0")] {
        figures.append(try await append(count / (writers == 1 ? 4 : 1), writers, target, relay, server))
      }
      try relay.stop()
      figures += try await push(database, spaces: spaces, rate: rate, seconds: seconds)
      try server.stop()
      return figures
    }

    private func append(
      _ count: Int, _ writers: Int, _ target: String, _ relay: RelayUnderLoad, _ server: PostgresUnderLoad
    ) async throws -> Figure {
      let load = WriterThreads(
        port: relay.port, token: try await relay.token(), digest: RelayDigest.field(SHA256.hash(WriterThreads.body)))
      let before = (relay: relay.processorTime, server: try server.processorTime())
      try await load.run(writers, count: count)
      let (own, database) = (relay.processorTime - before.relay, try server.processorTime() - before.server)
      let plain = try plainInserts(count, writers, server)
      return Figure(
        name: "append on PostgreSQL, \(writers) in flight: the processor time of relay and PostgreSQL beside pgbench "
          + "inserting the same row, \(writers) in flight",
        value: String(
          format: "%.1f × (relay %.0f µs, PostgreSQL %.0f µs; pgbench's PostgreSQL %.0f µs)", (own + database) / plain,
          own / count / .microseconds(1), database / count / .microseconds(1), plain / count / .microseconds(1)),
        target: target)
    }

    /// PostgreSQL's processor time for the row alone, a transaction each.
    private func plainInserts(_ count: Int, _ writers: Int, _ server: PostgresUnderLoad) throws -> Duration {
      let before = try server.processorTime()
      try insertPlainly(count, writers, server)
      return try server.processorTime() - before
    }

    /// Inserts the row alone, a transaction each.
    func insertPlainly(_ count: Int, _ writers: Int, _ server: PostgresUnderLoad) throws {
      let database = try server.database("plain\(writers)")
      try server.sql(
        """
        CREATE TABLE entry(space BIGINT NOT NULL, position BIGSERIAL, name TEXT COLLATE "C" NOT NULL,
          chain BYTEA NOT NULL, size BIGINT NOT NULL, body BYTEA, UNIQUE(space, position));
        CREATE UNIQUE INDEX entry_name ON entry(space, name);
        CREATE SEQUENCE entry_name_seq;
        """, in: database)
      func hexadecimal(_ bytes: ArraySlice<UInt8>) -> String {
        "\\x" + bytes.map { String(format: "%02x", $0) }.joined()
      }
      try server.repeating(
        """
        INSERT INTO entry(space, name, chain, size, body)
        VALUES(1, 'w' || :client_id || '-' || nextval('entry_name_seq'), :chain, 320, :body)
        """,
        ["chain": hexadecimal(WriterThreads.body[..<16]), "body": hexadecimal(WriterThreads.body[...])],
        connections: writers, count: count, in: database)
    }

    private func push(_ database: String, spaces: Int, rate: Int, seconds: Int) async throws -> [Figure] {
      let one = try await RelayUnderLoad(folder, "one", database: database)
      let other = try await RelayUnderLoad(folder, "other", database: database)
      let figures = try await PushBench(folder: folder).run(
        spaces: spaces, rate: rate, seconds: seconds, from: one, to: other,
        "push from one instance to another on PostgreSQL", "≤ 75 ms (p99)")
      try one.stop()
      try other.stop()
      return figures
    }
  }
#endif
