#if Relay
  import Foundation
  import Tally
  import TallyRelay
  import TallySync

  /// What refers to a file that devices get without being asked.
  struct Picture: Entity {
    static let schema = EntitySchema("Picture", .asset("photo", download: .eager))
    var id = RecordName<Picture>()
  }

  /// A device that syncs its files through a relay, in a process of its own: it may be killed, and its memory is its
  /// own.
  final class AssetDevice {
    static let schema = Schema(Picture.self)

    /// What a device says of its sync.
    struct Outcome {
      let time: Duration
      /// How much memory it had at the most beyond that of the idle process, in MiB.
      let memory: Double
    }

    /// Syncs until every file has travelled, and says so on standard output. It is what the process does.
    static func run(_ path: String, _ address: String, _ token: String) async throws {
      let store = try Store(path: path, schema: schema)
      let mailbox = try RelayMailbox(address, token: token)
      // An idle device has a store, a client and a connection.
      _ = try await mailbox.status()
      guard let reset = FileHandle(forWritingAtPath: "/proc/self/clear_refs") else {
        throw LoadConnection.Failure(call: "clear_refs")
      }
      // "5" lets the peak begin at what is resident now: proc(5).
      try reset.write(contentsOf: Data("5".utf8))
      try reset.close()
      let pid = ProcessInfo.processInfo.processIdentifier
      let idle = RelayUnderLoad.kibibytes("VmRSS", pid)
      let start = ContinuousClock.now
      var settings = MailboxSettings()
      settings.assetTime = .seconds(3_600)
      var report = try await store.sync(through: mailbox, settings)
      while report.assets.isUnfinished { report = try await store.sync(through: mailbox, settings) }
      let time = ContinuousClock.now - start
      guard report.assets.issues.isEmpty, report.assets.failure == nil, report.assets.wanted == 0,
        report.assets.unsent == 0
      else { throw LoadConnection.Failure(call: "sync of files: \(report.assets)") }
      print(time / .seconds(1), (RelayUnderLoad.kibibytes("VmHWM", pid) - idle) / 1_024)
      try store.close()
    }

    private let process = Process()
    private let output = Pipe()

    /// Starts one.
    init(_ store: URL, port: Int, _ token: RelayUnderLoad.Token) throws {
      process.executableURL = Bundle.main.executableURL
      process.arguments = [
        "--asset-device", store.path, "--at", "http://127.0.0.1:\(port)/s/\(token.space)", "--token", token.token,
      ]
      process.standardOutput = output
      try process.run()
    }

    var pid: Int32 { process.processIdentifier }

    /// Waits until it has ended.
    /// - Returns: nil if it was killed.
    func wait() throws -> Outcome? {
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      if process.terminationReason == .uncaughtSignal, process.terminationStatus == SIGKILL { return nil }
      let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
      guard process.terminationStatus == 0, numbers.count == 2 else {
        throw LoadConnection.Failure(call: "a device that syncs files")
      }
      return Outcome(time: .seconds(numbers[0]), memory: numbers[1])
    }
  }
#endif
