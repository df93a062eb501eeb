#if Relay
  import Foundation
  import GRDBSQLite
  import RelayRig
  import Synchronization
  import TallyRelayProtocol
  import TallyWire

  /// What clients that ask for much cost the others: waits of puts while a large entry is removed, answers that nobody
  /// reads, and the memory that a burst leaves behind. `make relay-load`.
  struct FaultBench {
    let folder: URL
    /// The size of the entry that is removed, in MiB.
    let removed: Int
    /// How many answers are not read.
    let unread: Int

    private static let mebibyte = 1 << 20
    /// What the relay may open for itself meanwhile: connections to its file.
    private static let ownDescriptors = 16

    func run() async throws -> [Figure] {
      var figures = [try await removal()]
      #if Postgres
        if PostgresServer.programs == nil {
          print("postgres: not measured, since no PostgreSQL server is installed (Debian: postgresql)")
        } else {
          figures.append(try await removalOnPostgres())
        }
      #endif
      for (name, path) in [("downloads of 64 MiB", "entries/large"), ("pages", "changes")] {
        figures.append(try await unreadAnswers(name, path))
      }
      figures.append(try await burst())
      return figures
    }

    // MARK: Removal

    /// How a removal has ended that another thread makes.
    private final class Removal: Sendable {
      private let outcome = Mutex<Result<Void, any Error>?>(nil)

      var result: Result<Void, any Error>? { outcome.withLock { $0 } }
      func end(_ result: Result<Void, any Error>) { outcome.withLock { $0 = result } }
    }

    private func removal() async throws -> Figure {
      let relay = try await RelayUnderLoad(folder, "removal")
      let path = folder.appendingPathComponent("removal.sqlite").path
      return try await removal(on: "SQLite", relay) { try Self.leftovers(path) }
    }

    #if Postgres
      private func removalOnPostgres() async throws -> Figure {
        let server = try PostgresUnderLoad()
        let database = try server.database("removal")
        let relay = try await RelayUnderLoad(folder, "removal-postgres", database: database)
        let figure = try await removal(on: "PostgreSQL", relay) {
          Int(try PostgresServer.sql("SELECT COUNT(*) FROM tally_relay.removed", in: database)) ?? -1
        }
        try server.stop()
        return figure
      }
    #endif

    /// One put after the other into a space: before, and while another space's entry is removed, to the last of its
    /// bytes. `leftovers` says how many contents are still to be removed.
    private func removal(
      on storage: String, _ relay: RelayUnderLoad, _ leftovers: @escaping @Sendable () throws -> Int
    ) async throws -> Figure {
      let (owner, other) = (try await relay.token(), try await relay.token())
      try fill(relay, owner, mebibytes: removed)
      let writer = try LoadConnection(relay.port)
      _ = try waits(writer, other, "warm") { $0 == 200 }
      let before = try waits(writer, other, "before") { $0 == 1_000 }
      let (removal, port) = (Removal(), relay.port)
      Thread.detachNewThread {
        removal.end(
          Result {
            try LoadConnection(port).remove("large", owner)
            while try leftovers() > 0 { usleep(20_000) }
          })
      }
      let start = ContinuousClock.now
      // A removal that is over at once is no row without puts.
      let during = try waits(writer, other, "during") { $0 >= 100 && removal.result != nil }
      let time = ContinuousClock.now - start
      try removal.result?.get()
      try relay.stop()
      func text(_ pick: ([Duration]) -> Duration?) -> String {
        let (one, two) = (pick(before) ?? .zero, pick(during) ?? .zero)
        return String(format: "%.1f ×", two / one) + " (\(milliseconds(one)), \(milliseconds(two)))"
      }
      return Figure(
        name: "another space's puts while \(removed) MiB are removed, \(storage), beside before: p99, longest",
        value: "\(text { $0[$0.count * 99 / 100] }), \(text(\.last)); \(during.count) puts in "
          + String(format: "%.1f s", time / .seconds(1)), target: "≤ 10 ×")
    }

    /// Puts entries until it is said to be enough of them.
    /// - Returns: what each took, the longest last.
    private func waits(
      _ connection: LoadConnection, _ token: RelayUnderLoad.Token, _ word: String, until isEnough: (Int) -> Bool
    ) throws -> [Duration] {
      let digest = RelayDigest.field(SHA256.hash(WriterThreads.body))
      var times: [Duration] = []
      while !isEnough(times.count) {
        let start = ContinuousClock.now
        try connection.put("\(word)-\(times.count)", WriterThreads.body, digest: digest, token)
        times.append(ContinuousClock.now - start)
      }
      return times.sorted()
    }

    /// Uploads an entry in pieces.
    private func fill(_ relay: RelayUnderLoad, _ token: RelayUnderLoad.Token, mebibytes: Int) throws {
      let piece = [UInt8](repeating: 7, count: min(mebibytes * Self.mebibyte, RelayLimits.bodyBytes))
      let (digest, length) = (RelayDigest.field(SHA256.hash(piece)), mebibytes * Self.mebibyte)
      let connection = try LoadConnection(relay.port)
      for offset in stride(from: 0, to: length, by: piece.count) {
        let rest = length - offset
        let bytes = rest < piece.count ? Array(piece[..<rest]) : piece
        try connection.put(
          piece: bytes, at: offset, of: length, "large",
          digest: rest < piece.count ? RelayDigest.field(SHA256.hash(bytes)) : digest, token)
      }
    }

    /// How many removed contents of a relay's file have rows.
    private static func leftovers(_ path: String) throws -> Int {
      var (database, statement): (OpaquePointer?, OpaquePointer?)
      defer {
        sqlite3_finalize(statement)
        sqlite3_close(database)
      }
      guard sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, nil) == SQLITE_OK,
        sqlite3_prepare_v2(database, "SELECT COUNT(*) FROM removed", -1, &statement, nil) == SQLITE_OK,
        sqlite3_step(statement) == SQLITE_ROW
      else { throw LoadConnection.Failure(call: "sqlite") }
      return Int(sqlite3_column_int64(statement, 0))
    }

    // MARK: Unread answers

    /// So many answers of one token that nobody reads: the memory that they hold, and when the last is closed.
    private func unreadAnswers(_ name: String, _ path: String) async throws -> Figure {
      let relay = try await RelayUnderLoad(folder, "unread-\(path.prefix(3))")
      let token = try await relay.token()
      try fill(relay, token, mebibytes: 64)
      let writer = try LoadConnection(relay.port)
      let small = [UInt8](repeating: 7, count: 60_000)
      let digest = RelayDigest.field(SHA256.hash(small))
      for number in 0..<70 { try writer.put("e-\(number)", small, digest: digest, token) }
      // What the upload took has gone back, or does at the next look.
      try await Task.sleep(for: .seconds(20))
      let (before, descriptors) = (relay.memory, relay.descriptors + Self.ownDescriptors)
      let connections = try (0..<unread).map { _ in
        let connection = try LoadConnection(relay.port, receiveBytes: 4_096)
        try connection.ask("/v1/spaces/\(token.space)/\(path)", token)
        return connection
      }
      for connection in connections { try connection.waitForAnswer() }
      let start = ContinuousClock.now
      var (most, settled) = (0.0, Double.nan)
      // After three minutes the target is missed by far.
      while relay.descriptors > descriptors, ContinuousClock.now - start < .seconds(180) {
        most = max(most, relay.memory - before)
        if ContinuousClock.now - start < .seconds(40) { settled = relay.memory - before }
        try await Task.sleep(for: .milliseconds(100))
      }
      let time = ContinuousClock.now - start
      let left = relay.descriptors - descriptors
      withExtendedLifetime((connections, writer)) {}
      try relay.stop()
      return Figure(
        name: "\(unread) unread \(name) of one token: memory after 40 s, the most; until all are closed",
        value: String(format: "%.0f MiB, %.0f MiB; ", settled, most)
          + (left > 0 ? "\(left) are open" : String(format: "%.0f s", time / .seconds(1))),
        target: "≤ 64 MiB; ≤ 75 s")
    }

    // MARK: A burst

    /// Puts and reads of a mebibyte each from 32 connections, and a minute of nothing.
    private func burst() async throws -> Figure {
      let relay = try await RelayUnderLoad(folder, "burst")
      let token = try await relay.token()
      let body = [UInt8](repeating: 1, count: Self.mebibyte)
      let digest = RelayDigest.field(SHA256.hash(body))
      // What any first request needs is not the burst's.
      let first = try LoadConnection(relay.port)
      try first.put("first", body, digest: digest, token)
      try first.read("first", body.count, token)
      let (whole, before, port) = (relay.memory, relay.ownMemory, relay.port)
      let group = DispatchGroup()
      let failures = Mutex(0)
      for writer in 0..<32 {
        group.enter()
        Thread.detachNewThread {
          defer { group.leave() }
          do {
            let connection = try LoadConnection(port)
            for number in 0..<10 {
              try connection.put("e-\(writer)-\(number)", body, digest: digest, token)
              try connection.read("e-\(writer)-\(number)", body.count, token)
            }
          } catch {
            failures.withLock { $0 += 1 }
          }
        }
      }
      await withCheckedContinuation { continuation in group.notify(queue: .global()) { continuation.resume() } }
      guard failures.withLock({ $0 }) == 0 else { throw LoadConnection.Failure(call: "burst") }
      let most = relay.peakMemory
      try await Task.sleep(for: .seconds(60))
      let after = whole + relay.ownMemory - before
      withExtendedLifetime(first) {}
      try relay.stop()
      return Figure(
        name: "memory 60 s after a burst, beside before",
        value: String(format: "%.2f × (%.0f MiB, %.0f MiB; the most %.0f MiB)", after / whole, whole, after, most),
        target: "≤ 1.3 ×")
    }
  }
#endif
