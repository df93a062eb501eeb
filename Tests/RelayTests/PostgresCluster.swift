#if Relay
  import Foundation
  import Synchronization
  import Testing

  /// A private PostgreSQL server, which ends with this process or before. `Scripts/postgres.sh` runs it.
  final class PostgresCluster: Sendable {
    struct Failure: Error {
      let command: String
      let output: String
    }

    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Scripts/postgres.sh").standardizedFileURL.path

    /// Where PostgreSQL's programs are; nil if there are none, or the tests are built without the trait.
    private static let programs: String? = {
      #if Postgres
        let (status, output) = (try? blockingRun("/bin/bash", [script, "find"])) ?? (1, "")
        return status == 0 ? output.trimmingCharacters(in: .whitespacesAndNewlines) : nil
      #else
        return nil
      #endif
    }()

    static var isAvailable: Bool { programs != nil }

    let folder: String
    /// The server ends when this is closed.
    private let life: FileHandle
    private let databases = Mutex(0)

    private static let one = Mutex<Task<PostgresCluster, any Error>?>(nil)

    /// The one that tests share; each has a database of its own.
    static func shared() async throws -> PostgresCluster {
      let task = one.withLock { one in
        let task = one ?? Task { try await PostgresCluster.start() }
        one = task
        return task
      }
      return try await task.value
    }

    /// Makes and starts one.
    /// - Parameter primary: what it is to be a standby of; nil for a server of its own.
    static func start(following primary: PostgresCluster? = nil) async throws -> PostgresCluster {
      // A socket's path has 107 bytes at most, and the user postgres must get there.
      let folder = "/tmp/tally-pg-\(UUID().uuidString.prefix(8))"
      return try await onThread {
        let (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = primary.map { [script, "standby", folder, $0.folder] } ?? [script, "serve", folder]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard text.hasPrefix("ready") else { throw Failure(command: "serve", output: text) }
        return PostgresCluster(folder, input.fileHandleForWriting)
      }
    }

    private init(_ folder: String, _ life: FileHandle) { (self.folder, self.life) = (folder, life) }

    /// Ends it and removes everything.
    func end() throws { try life.close() }

    func url(_ database: String) -> String { "postgresql:///\(database)?host=\(folder)&user=tally" }

    /// Makes an empty database.
    /// - Returns: its address.
    func newDatabase() async throws -> String {
      let number = databases.withLock { number in
        number += 1
        return number
      }
      try await Self.sql("CREATE DATABASE relay\(number)", in: url("postgres"))
      return url("relay\(number)")
    }

    /// Ends the server as a crash would.
    func crash() async throws { try await Self.run("/bin/bash", Self.script, "crash", folder) }

    /// Makes a standby a server of its own.
    func promote() async throws { try await Self.run("/bin/bash", Self.script, "promote", folder) }

    /// Starts it again.
    func startAgain() async throws { try await Self.run("/bin/bash", Self.script, "start", folder) }

    /// Runs SQL, and returns what it yields: values with `|` between, a row a line.
    @discardableResult
    static func sql(_ text: String, in database: String) async throws -> String {
      try await run("\(programs ?? "")/psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text, database)
    }

    static func dump(_ database: String, to file: String) async throws {
      try await run("\(programs ?? "")/pg_dump", "--no-owner", "-f", file, database)
    }

    static func restore(_ database: String, from file: String) async throws {
      try await sql("DROP SCHEMA tally_relay CASCADE", in: database)
      try await run("\(programs ?? "")/psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", file, database)
    }

    // MARK: Programs

    @discardableResult
    private static func run(_ program: String, _ arguments: String...) async throws -> String {
      try await onThread {
        let (status, output) = try blockingRun(program, arguments)
        guard status == 0 else { throw Failure(command: "\(program) \(arguments)", output: output) }
        return output.trimmingCharacters(in: .whitespacesAndNewlines)
      }
    }

    private static func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
      try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
      }
    }

    private static func blockingRun(_ program: String, _ arguments: [String]) throws -> (Int32, String) {
      let (process, pipe) = (Process(), Pipe())
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = arguments
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = pipe
      process.standardError = pipe
      try process.run()
      let output = pipe.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
  }
#endif
