#if Relay
  import Foundation
  import Synchronization

  /// The built tool, which stands beside the test bundle.
  enum Tool {
    static let path: String = {
      #if canImport(Darwin)
        let folder = Bundle(for: RelayProcess.self).bundleURL.deletingLastPathComponent()
      #else
        let folder = (Bundle.main.executableURL ?? Bundle.main.bundleURL).deletingLastPathComponent()
      #endif
      return folder.appendingPathComponent("tally").path
    }()

    struct Outcome: Sendable {
      var status: Int32
      var output: String
      var errors: String
      var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    /// Runs the tool to its end, in a folder. On a thread of its own, since servers of this process need theirs.
    static func run(_ arguments: String..., in folder: URL) async throws -> Outcome {
      try await run(arguments, in: folder)
    }

    static func run(_ arguments: [String], in folder: URL) async throws -> Outcome {
      try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try blockingRun(arguments, folder) }) }
      }
    }

    private static func blockingRun(_ arguments: [String], _ folder: URL) throws -> Outcome {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: path)
      process.arguments = arguments
      process.currentDirectoryURL = folder
      process.standardInput = FileHandle.nullDevice
      let streams = [UUID().uuidString, UUID().uuidString].map {
        FileManager.default.temporaryDirectory.appendingPathComponent("tally-relay-\($0)")
      }
      defer { for stream in streams { unlink(stream.path) } }
      for stream in streams { try Data().write(to: stream) }
      process.standardOutput = try FileHandle(forWritingTo: streams[0])
      process.standardError = try FileHandle(forWritingTo: streams[1])
      try process.run()
      process.waitUntilExit()
      let texts = try streams.map { String(decoding: try Data(contentsOf: $0), as: UTF8.self) }
      let isKilled = process.terminationReason == .uncaughtSignal
      return Outcome(
        status: isKilled ? -process.terminationStatus : process.terminationStatus, output: texts[0], errors: texts[1])
    }
  }

  /// A command of the tool that goes on until it is ended.
  final class RelayProcess: Sendable {
    private let process: Mutex<Process>
    private let errors: URL
    let pid: pid_t

    /// Starts the tool, and returns when it has said the first line. `prefix` is a program that runs it, with its
    /// arguments; empty for none.
    static func start(_ arguments: String..., in folder: URL, after prefix: [String] = []) async throws -> (
      RelayProcess, String
    ) {
      let (lines, feed) = AsyncStream.makeStream(of: String.self)
      let process = try RelayProcess(arguments, folder, prefix) {
        feed.yield($0)
      } onEnd: {
        feed.finish()
      }
      for await line in lines { return (process, line) }
      throw RawHTTP.Failure(call: "tally \(arguments.joined(separator: " ")): \(process.errorText)", number: 0)
    }

    /// Starts the tool.
    static func launch(_ arguments: String..., in folder: URL) throws -> RelayProcess {
      try RelayProcess(arguments, folder) { _ in
      } onEnd: {
      }
    }

    private init(
      _ arguments: [String], _ folder: URL, _ prefix: [String] = [], _ onLine: @escaping @Sendable (String) -> Void,
      onEnd: @escaping @Sendable () -> Void
    ) throws {
      let (process, pipe) = (Process(), Pipe())
      errors = folder.appendingPathComponent("errors-\(UUID().uuidString)")
      try Data().write(to: errors)
      process.executableURL = URL(fileURLWithPath: prefix.isEmpty ? Tool.path : "/usr/bin/env")
      process.arguments = prefix.isEmpty ? arguments : prefix + [Tool.path] + arguments
      process.currentDirectoryURL = folder
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = pipe
      process.standardError = try FileHandle(forWritingTo: errors)
      try process.run()
      pid = process.processIdentifier
      self.process = Mutex(process)
      Leftovers.note { [self] in if self.process.withLock({ $0.isRunning }) { _ = await end(SIGKILL) } }
      let reading = pipe.fileHandleForReading
      Thread.detachNewThread {
        var text: [UInt8] = []
        while case let data = reading.availableData, !data.isEmpty {
          text += data
          while let end = text.firstIndex(of: 0x0A) {
            let line = String(decoding: text[..<end], as: UTF8.self)
            text.removeFirst(end + 1)
            onLine(line)
          }
        }
        onEnd()
      }
    }

    var isRunning: Bool { process.withLock { $0.isRunning } }

    /// What it has said on standard error.
    var errorText: String {
      guard let data = FileManager.default.contents(atPath: errors.path) else { return "" }
      return String(decoding: data, as: UTF8.self)
    }

    /// Its memory in KiB; nil where there is no `/proc`.
    var memory: Int? { status("VmRSS") }
    /// Its memory without the pages of files, such as its program, of which other processes decide how many it has.
    var ownMemory: Int? { status("RssAnon") }

    /// How many file descriptors it has open; nil where there is no `/proc`.
    var descriptors: Int? {
      do { return try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count } catch { return nil }
    }

    private func status(_ name: String) -> Int? {
      guard let data = FileManager.default.contents(atPath: "/proc/\(pid)/status") else { return nil }
      let line = String(decoding: data, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("\(name):") }
      return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
    }

    /// Sends a signal, and waits for the end.
    /// - Returns: the exit code, or the number of the signal, negative.
    func end(_ signal: Int32) async -> Int32 {
      kill(pid, signal)
      return await withCheckedContinuation { continuation in
        Thread.detachNewThread {
          let status = self.process.withLock { process in
            process.waitUntilExit()
            return process.terminationReason == .uncaughtSignal ? -process.terminationStatus : process.terminationStatus
          }
          continuation.resume(returning: status)
        }
      }
    }
  }
#endif
