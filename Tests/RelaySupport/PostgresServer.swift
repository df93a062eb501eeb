import Foundation
import Synchronization

/// A private PostgreSQL server, which ends with this process or before. `Scripts/postgres.sh` runs it. Everything here
/// blocks.
package final class PostgresServer: Sendable {
  /// Where this is compiled, the scripts are.
  private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../Scripts/postgres.sh").standardizedFileURL.path

  /// Where PostgreSQL's programs are; nil if there are none.
  package static let programs: String? = {
    do { return try Program.run("/bin/bash", [script, "find"]) } catch { return nil }
  }()

  /// Where it keeps everything, its socket included.
  package let folder: String
  private let process: Mutex<Process>
  /// The server ends when this is closed.
  private let life: FileHandle

  /// Makes and starts a server: a standby of `primary`, or a server of its own. If `syncs`, it waits for the disk, as
  /// one that keeps real data does.
  package init(following primary: PostgresServer? = nil, syncs: Bool = false) throws {
    // A socket's path has 107 bytes at most, and the user postgres must get there.
    let folder = "/tmp/tally-pg-\(UUID().uuidString.prefix(8))"
    self.folder = folder
    let (process, input, output) = (Process(), Pipe(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments = [Self.script] + (primary.map { ["standby", folder, $0.folder] } ?? ["serve", folder])
    process.environment = ProcessInfo.processInfo.environment
      .merging(["TALLY_POSTGRES_FSYNC": syncs ? "on" : "off"]) { $1 }
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    guard text.hasPrefix("ready") else {
      process.waitUntilExit()
      throw Program.Failure(command: "postgres.sh serve", status: process.terminationStatus, output: text)
    }
    life = input.fileHandleForWriting
    self.process = Mutex(process)
  }

  /// Ends it, removes everything, and waits for that. May be called again.
  package func end() throws {
    try process.withLock { process in
      guard process.isRunning else { return }
      try life.close()
      process.waitUntilExit()
    }
  }

  /// What the script does with it: `crash`, `start` or `promote`.
  package func tell(_ verb: String) throws { try Program.run("/bin/bash", [Self.script, verb, folder]) }

  /// The address of a database.
  package func url(_ database: String) -> String { "postgresql:///\(database)?host=\(folder)&user=tally" }

  /// Makes an empty database.
  /// - Returns: its address.
  package func database(_ name: String) throws -> String {
    try Self.sql("CREATE DATABASE \(name)", in: url("postgres"))
    return url(name)
  }

  /// Runs SQL, and returns what it yields: values with `|` between, a row a line.
  @discardableResult
  package static func sql(_ text: String, in database: String) throws -> String {
    try run("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text, database)
  }

  /// Runs one of PostgreSQL's programs.
  @discardableResult
  package static func run(_ program: String, _ arguments: String...) throws -> String {
    try Program.run("\(programs ?? "")/\(program)", arguments)
  }
}
