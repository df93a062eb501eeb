#if Relay
  import Foundation
  import RelayRig
  import Synchronization

  /// A private PostgreSQL server for tests: `PostgresServer`, on threads that may block.
  final class PostgresCluster: Sendable {
    /// Whether there are PostgreSQL's programs, and the tests are built with the trait.
    static var isAvailable: Bool {
      #if Postgres
        PostgresServer.programs != nil
      #else
        false
      #endif
    }

    private let server: PostgresServer
    private let databases = Mutex(0)

    private static let one = Mutex<Task<PostgresCluster, any Error>?>(nil)

    private init(_ server: PostgresServer) { self.server = server }

    /// The one that tests share; each has a database of its own. It ends with the process.
    static func shared() async throws -> PostgresCluster {
      let task = one.withLock { one in
        let task = one ?? Task { PostgresCluster(try await RawHTTP.onThread { try PostgresServer() }) }
        one = task
        return task
      }
      return try await task.value
    }

    /// Makes and starts one for a test, which ends with the test: a standby of `primary`, or a server of its own.
    static func start(following primary: PostgresCluster? = nil) async throws -> PostgresCluster {
      let cluster = PostgresCluster(
        try await RawHTTP.onThread { [server = primary?.server] in try PostgresServer(following: server) })
      Leftovers.note { try await cluster.end() }
      return cluster
    }

    var folder: String { server.folder }

    func url(_ database: String) -> String { server.url(database) }

    /// Ends it and removes everything.
    func end() async throws { try await RawHTTP.onThread { [server] in try server.end() } }

    /// Makes an empty database.
    /// - Returns: its address.
    func newDatabase() async throws -> String {
      let number = databases.withLock { number in
        number += 1
        return number
      }
      return try await RawHTTP.onThread { [server] in try server.database("relay\(number)") }
    }

    /// Ends the server as a crash would.
    func crash() async throws { try await tell("crash") }

    /// Makes a standby a server of its own.
    func promote() async throws { try await tell("promote") }

    /// Starts it again.
    func startAgain() async throws { try await tell("start") }

    private func tell(_ verb: String) async throws { try await RawHTTP.onThread { [server] in try server.tell(verb) } }

    /// Runs SQL, and returns what it yields: values with `|` between, a row a line.
    @discardableResult
    static func sql(_ text: String, in database: String) async throws -> String {
      try await RawHTTP.onThread { try PostgresServer.sql(text, in: database) }
    }

    static func dump(_ database: String, to file: String) async throws {
      try await RawHTTP.onThread { _ = try PostgresServer.run("pg_dump", "--no-owner", "-f", file, database) }
    }

    static func restore(_ database: String, from file: String) async throws {
      try await sql("DROP SCHEMA tally_relay CASCADE", in: database)
      try await RawHTTP.onThread {
        _ = try PostgresServer.run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", file, database)
      }
    }
  }
#endif
