#if Relay
  import Foundation
  import RelayRig
  import Synchronization

  /// A private PgBouncer before a test's PostgreSQL server, reached over a socket in a folder of its own. It ends with
  /// the test.
  final class PgBouncer: Sendable {
    /// Whether the program is here, and PostgreSQL with it.
    static let isAvailable = PostgresCluster.isAvailable && program != nil
    private static let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"].first {
      FileManager.default.isExecutableFile(atPath: $0)
    }

    private let folder: String
    private let process: Mutex<Process>

    private init(_ folder: String, _ process: sending Process) {
      self.folder = folder
      self.process = Mutex(process)
    }

    /// Starts one. `mode` is session, transaction or statement; `sessions` says how many the pool has.
    static func start(before cluster: PostgresCluster, _ mode: String, sessions: Int = 20) async throws -> PgBouncer {
      let folder = "/tmp/tally-pgbouncer-\(UUID().uuidString.prefix(8))"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let configuration = """
        [databases]
        * = host=\(cluster.folder) user=tally
        [pgbouncer]
        listen_addr =
        listen_port = 6432
        unix_socket_dir = \(folder)
        auth_type = any
        pool_mode = \(mode)
        default_pool_size = \(sessions)
        ignore_startup_parameters = extra_float_digits
        """
      try Data("\(configuration)\n".utf8).write(to: URL(fileURLWithPath: "\(folder)/pgbouncer.ini"))
      let process = Process()
      process.executableURL = URL(fileURLWithPath: program ?? "")
      // It refuses root, as PostgreSQL does.
      if getuid() == 0 {
        try Program.run("chown", ["-R", "postgres", folder])
        process.arguments = ["-q", "-u", "postgres", "\(folder)/pgbouncer.ini"]
      } else {
        process.arguments = ["-q", "\(folder)/pgbouncer.ini"]
      }
      process.standardInput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
      let pooler = PgBouncer(folder, process)
      Leftovers.note { try await pooler.end() }
      try await Looking.until("PgBouncer answers", within: .seconds(60)) {
        (try? await PostgresCluster.sql("SELECT 1", in: pooler.url("postgres"))) == "1"
      }
      return pooler
    }

    /// The address of a database behind it.
    func url(_ database: String) -> String { "postgresql:///\(database)?host=\(folder)&port=6432&user=tally" }

    private func end() async throws {
      try await RawHTTP.onThread { [self] in
        process.withLock { process in
          guard process.isRunning else { return }
          // Other signals are blocked in the thread that started it, and so in the program.
          kill(process.processIdentifier, SIGKILL)
          process.waitUntilExit()
        }
      }
      try FileManager.default.removeItem(atPath: folder)
    }
  }
#endif
