#if Postgres
  import Foundation
  import RelayRig

  /// A private PostgreSQL server with `fsync` on, which ends with this process or before.
  final class PostgresUnderLoad {
    private let server: PostgresServer

    init() throws { server = try PostgresServer(syncs: true) }

    /// Ends it and removes everything.
    func stop() throws { try server.end() }

    func database(_ name: String) throws -> String { try server.database(name) }

    @discardableResult
    func sql(_ text: String, in database: String) throws -> String { try PostgresServer.sql(text, in: database) }

    /// Runs one statement again and again in each of so many connections, each time in a transaction of its own.
    func repeating(_ statement: String, _ values: [String: String], connections: Int, count: Int, in database: String)
      throws
    {
      let file = FileManager.default.temporaryDirectory.appendingPathComponent("pgbench-\(UUID().uuidString).sql")
      try Data("\(statement);\n".utf8).write(to: file)
      var arguments = ["-n", "-M", "prepared", "-f", file.path, "-c", "\(connections)", "-t", "\(count / connections)"]
      for (name, value) in values { arguments += ["-D", "\(name)=\(value)"] }
      try Program.run("\(PostgresServer.programs ?? "")/pgbench", arguments + [database])
      try FileManager.default.removeItem(at: file)
    }

    /// The processor time that all its processes have taken so far, also those that have ended.
    func processorTime() throws -> Duration {
      let first = try String(contentsOfFile: "\(server.folder)/data/postmaster.pid", encoding: .utf8).split(
        separator: "\n"
      )
      .first.flatMap { Int32($0) }
      guard let first else { throw LoadConnection.Failure(call: "postmaster.pid") }
      var ticks = 0
      for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
        guard let pid = Int32(name), let fields = ProcessTimes(pid) else { continue }
        if pid == first { ticks += fields.own + fields.ended } else if fields.parent == first { ticks += fields.own }
      }
      return ProcessTimes.duration(ticks)
    }
  }
#endif
