#if Relay
  import Foundation
  import TallyRelayServer

  /// A relay in a process of its own.
  final class RelayUnderLoad {
    struct Token {
      let space: String
      let token: String
    }

    private struct NoRelay: Error {}

    let port: Int
    private let process = Process()
    private let store: any RelayStorage

    /// Starts a relay on the database of this address, or on a file of its own.
    init(_ folder: URL, _ name: String, database: String? = nil, port: Int = 0) async throws {
      let path = folder.appendingPathComponent("\(name).sqlite").path
      let tool = (Bundle.main.executableURL ?? Bundle.main.bundleURL).deletingLastPathComponent()
        .appendingPathComponent("tally")
      let output = Pipe()
      process.executableURL = tool
      let place = database.map { ["--postgres", $0] } ?? ["--data", path]
      process.arguments = ["relay"] + place + ["--listen", "127.0.0.1:\(port)", "--rate", "1000000"]
      process.standardOutput = output
      // The log is part of what a relay does; nobody reads it here.
      process.standardError = FileHandle.nullDevice
      try process.run()
      let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
      guard
        let port = line.split(separator: ":").last.flatMap({ Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) })
      else { throw NoRelay() }
      self.port = port
      store = try await Self.store(path, database)
    }

    private static func store(_ path: String, _ database: String?) async throws -> any RelayStorage {
      #if Postgres
        if let database { return try await PostgresRelayStore(database, for: .administration) }
      #endif
      return try RelayStore(path: path, for: .administration, mayCreate: false)
    }

    func token(_ space: String? = nil) async throws -> Token {
      let made = try await store.makeToken(space: space, role: .writer, quota: nil, expires: nil)
      return Token(space: made.space, token: made.token)
    }

    /// The processor time that it has taken so far.
    var processorTime: Duration { ProcessTimes.duration(ProcessTimes(process.processIdentifier)?.own ?? 0) }

    /// Its memory now, in MiB.
    var memory: Double { Self.kibibytes("VmRSS", process.processIdentifier) / 1_024 }
    /// Its memory without the pages of files, such as its program, in MiB.
    var ownMemory: Double { Self.kibibytes("RssAnon", process.processIdentifier) / 1_024 }
    /// How many file descriptors it has open; 0 where there is no `/proc`.
    var descriptors: Int {
      do {
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.processIdentifier)/fd").count
      } catch { return 0 }
    }
    /// The most memory that it had, in MiB.
    var peakMemory: Double { Self.kibibytes("VmHWM", process.processIdentifier) / 1_024 }

    static func kibibytes(_ name: String, _ pid: Int32) -> Double {
      let line = read("/proc/\(pid)/status").split(separator: "\n").first { $0.hasPrefix("\(name):") }
      return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) } ?? .nan
    }

    private static func read(_ path: String) -> String {
      FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Ends it as a crash would.
    func crash() throws {
      try store.close()
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }

    func stop() throws {
      try store.close()
      process.terminate()
      process.waitUntilExit()
    }
  }

  /// The processor time of this process.
  func ownProcessorTime() -> Duration {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    func duration(_ time: timeval) -> Duration { .seconds(time.tv_sec) + .microseconds(time.tv_usec) }
    return duration(usage.ru_utime) + duration(usage.ru_stime)
  }
#endif
