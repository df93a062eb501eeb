#if Relay
  import Foundation
  import GRDBSQLite
  import TallyRelayProtocol
  import TallyWire

  /// Entries of 320 bytes from 32 connections, beside the same rows through SQLite's C API, 32 a transaction.
  struct AppendBench {
    let folder: URL
    private static let writers = 32

    func run(count: Int) async throws -> [Figure] {
      let relay = try await RelayUnderLoad(folder, "append")
      let idle = relay.memory
      let token = try await relay.token()
      let load = WriterThreads(
        port: relay.port, token: token, digest: RelayDigest.field(SHA256.hash(WriterThreads.body)))
      let before = relay.processorTime
      let start = ContinuousClock.now
      try await load.run(Self.writers, count: count)
      let (time, wall) = (relay.processorTime - before, ContinuousClock.now - start)
      let plain = try plainInserts(count, batch: 32)
      let each = time / count
      try relay.stop()
      return [
        Figure(
          name:
            "append, 32 in flight: the relay's processor time beside the same rows through SQLite's C API in batches of 32",
          value: String(
            format: "%.1f × (%.0f µs; %.0f a second)", time / plain, each / .microseconds(1),
            Double(count) / (wall / .seconds(1))),
          target: "≤ 2.0"),
        Figure(name: "memory of an idle relay", value: String(format: "%.0f MiB", idle), target: "≤ 40"),
      ]
    }

    /// Inserts the row alone, durable in batches.
    /// - Returns: the processor time of all.
    @discardableResult
    func plainInserts(_ count: Int, batch: Int) throws -> Duration {
      var database: OpaquePointer?
      var statement: OpaquePointer?
      let path = folder.appendingPathComponent("plain-\(batch).sqlite").path
      let schema = """
        PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
        CREATE TABLE entry(space INTEGER NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, chain BLOB NOT NULL,
          size INTEGER NOT NULL, body BLOB, UNIQUE(space, position)) STRICT;
        CREATE UNIQUE INDEX entry_name ON entry(space, name);
        """
      guard sqlite3_open(path, &database) == SQLITE_OK, sqlite3_exec(database, schema, nil, nil, nil) == SQLITE_OK,
        sqlite3_prepare_v2(database, "INSERT INTO entry VALUES(1, ?, ?, ?, 320, ?)", -1, &statement, nil) == SQLITE_OK
      else { throw LoadConnection.Failure(call: "sqlite") }
      defer {
        sqlite3_finalize(statement)
        sqlite3_close(database)
      }
      let before = ownProcessorTime()
      let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
      for number in 0..<count {
        if number % batch == 0 { sqlite3_exec(database, "BEGIN IMMEDIATE", nil, nil, nil) }
        sqlite3_bind_int64(statement, 1, Int64(number))
        sqlite3_bind_text(statement, 2, "w\(number % 32)-\(number)", -1, transient)
        sqlite3_bind_blob(statement, 3, WriterThreads.body, 16, transient)
        sqlite3_bind_blob(statement, 4, WriterThreads.body, 320, transient)
        guard sqlite3_step(statement) == SQLITE_DONE else { throw LoadConnection.Failure(call: "sqlite") }
        sqlite3_reset(statement)
        if number % batch == batch - 1 || number == count - 1 { sqlite3_exec(database, "COMMIT", nil, nil, nil) }
      }
      return ownProcessorTime() - before
    }
  }
#endif
