#if Postgres
  import Foundation

  /// A private PostgreSQL server with `fsync` on, which ends with this process or before.
  final class PostgresUnderLoad {
    struct Failure: Error { let command: String, output: String }

    /// Where this is compiled, the scripts are.
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Scripts/postgres.sh").standardizedFileURL.path

    /// Where PostgreSQL's programs are; nil if there are none.
    static let programs: String? = try? run("/bin/bash", [script, "find"])

    private let folder = "/tmp/tally-pg-\(UUID().uuidString.prefix(8))"
    private let process = Process()
    private let life = Pipe()

    init() throws {
      let output = Pipe()
      process.executableURL = URL(fileURLWithPath: "/bin/bash")
      process.arguments = [Self.script, "serve", folder]
      process.environment = ProcessInfo.processInfo.environment.merging(["TALLY_POSTGRES_FSYNC": "on"]) { $1 }
      process.standardInput = life
      process.standardOutput = output
      try process.run()
      let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
      guard text.hasPrefix("ready") else { throw Failure(command: "serve", output: text) }
    }

    /// Ends it and removes everything.
    func stop() throws {
      try life.fileHandleForWriting.close()
      process.waitUntilExit()
    }

    func database(_ name: String) throws -> String {
      try sql("CREATE DATABASE \(name)", in: url("postgres"))
      return url(name)
    }

    private func url(_ database: String) -> String { "postgresql:///\(database)?host=\(folder)&user=tally" }

    @discardableResult
    func sql(_ text: String, in database: String) throws -> String {
      try Self.run(
        "\(Self.programs ?? "")/psql", ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text, database])
    }

    /// Runs one statement again and again in each of so many connections, each time in a transaction of its own.
    func repeating(_ statement: String, _ values: [String: String], connections: Int, count: Int, in database: String)
      throws
    {
      let file = FileManager.default.temporaryDirectory.appendingPathComponent("pgbench-\(UUID().uuidString).sql")
      try Data("\(statement);\n".utf8).write(to: file)
      defer { try? FileManager.default.removeItem(at: file) }
      var arguments = ["-n", "-M", "prepared", "-f", file.path, "-c", "\(connections)", "-t", "\(count / connections)"]
      for (name, value) in values { arguments += ["-D", "\(name)=\(value)"] }
      try Self.run("\(Self.programs ?? "")/pgbench", arguments + [database])
    }

    /// The processor time that all its processes have taken so far, also those that have ended.
    func processorTime() throws -> Duration {
      let first = try String(contentsOfFile: "\(folder)/data/postmaster.pid", encoding: .utf8).split(separator: "\n")
        .first.flatMap { Int32($0) }
      guard let first else { throw Failure(command: "postmaster.pid", output: "") }
      var ticks = 0
      for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
        guard let pid = Int32(name), let fields = ProcessTimes(pid) else { continue }
        if pid == first { ticks += fields.own + fields.ended } else if fields.parent == first { ticks += fields.own }
      }
      return ProcessTimes.duration(ticks)
    }

    @discardableResult
    private static func run(_ program: String, _ arguments: [String]) throws -> String {
      let (process, pipe) = (Process(), Pipe())
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = arguments
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = pipe
      process.standardError = pipe
      try process.run()
      let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      guard process.terminationStatus == 0 else { throw Failure(command: program, output: output) }
      return output.trimmingCharacters(in: .whitespacesAndNewlines)
    }
  }
#endif
