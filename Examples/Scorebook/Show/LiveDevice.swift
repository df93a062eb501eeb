#if Inspector && Relay
  import Foundation
  import Synchronization
  import Tally
  import TallyRelay
  import TallySync

  /// A device that is used by nobody in particular: it edits by itself now and then, syncs through the relay, and does
  /// what it reads from standard input. It prints how its sync stands, a line of JSON whenever that changes.
  final class LiveDevice: Sendable {
    private let store: Store
    private let engine: SyncEngine
    private let network = Switch(isOn: true)
    private let clock = Switch(isOn: false)
    private let edits = Switch(isOn: true)
    private let player: Player

    init(_ name: String, folder: String, _ address: String, token: String) async throws {
      var options = StoreOptions()
      options.now = { [clock] in Date().addingTimeInterval(clock.isOn ? 2 * 3600 : 0) }
      store = try Store(path: "\(folder)/\(name).tally", schema: scorebookSchema, options: options)
      player = Player(store, isFirst: name == "phone")
      var settings = SyncEngine.Settings()
      // On a phone the usual minutes are right; here somebody watches.
      (settings.longestRetry, settings.interval) = (.seconds(2), .seconds(5))
      settings.device = SyncDevice(name: name, app: "Scorebook")
      settings.logger.logLevel = .critical
      engine = SyncEngine(store, settings)
      await engine.add(Cable(try RelayMailbox(address, token: token), network), named: "relay")
      await engine.resume()
    }

    func run() async {
      let telling = Task { for await status in await engine.statusUpdates() { Self.say(StatusLine(status)) } }
      let editing = Task {
        while !Task.isCancelled {
          try? await Task.sleep(for: .milliseconds(Int.random(in: 2_000...6_000)))
          if edits.isOn { attempt { try player.edit() } }
        }
      }
      attempt { try player.begin() }
      // Ends when whoever started it goes away.
      while let line = await Self.nextLine() { await answer(line.split(separator: " ").map(String.init)) }
      editing.cancel()
      telling.cancel()
      await engine.pause()
      attempt { try store.close() }
    }

    private func answer(_ words: [String]) async {
      let isOn = words.last == "on"
      switch words.first {
      case "network":
        network.isOn = isOn
        await engine.syncNow()
      case "clock": clock.isOn = isOn
      case "edits": edits.isOn = isOn
      case "edit": attempt { try player.edit() }
      case "delete": attempt { try player.delete() }
      case "undelete": attempt { try player.undelete() }
      case "sync": await engine.syncNow()
      default: break
      }
    }

    private func attempt(_ body: () throws -> Void) {
      do {
        try body()
      } catch {
        FileHandle.standardError.write(Data("scorebook: \(error)\n".utf8))
      }
    }

    private static func say(_ status: StatusLine) {
      guard var line = try? JSONEncoder().encode(status) else { return }
      line.append(0x0A)
      FileHandle.standardOutput.write(line)
    }

    private static func nextLine() async -> String? {
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: readLine()) }
      }
    }
  }

  /// Something that is on or off.
  final class Switch: Sendable {
    private let state: Mutex<Bool>
    init(isOn: Bool) { state = Mutex(isOn) }

    var isOn: Bool {
      get { state.withLock { $0 } }
      set { state.withLock { $0 = newValue } }
    }
  }

  /// A mailbox behind a cable that somebody can pull out.
  struct Cable: Mailbox {
    private let mailbox: any Mailbox
    private let network: Switch

    init(_ mailbox: any Mailbox, _ network: Switch) { (self.mailbox, self.network) = (mailbox, network) }

    var name: String { mailbox.name }
    var identity: String { mailbox.identity }
    var kind: MailboxKind { mailbox.kind }

    private func check() throws {
      guard network.isOn else { throw MailboxError(.unavailable, "the network is cut") }
    }

    func changes(after cursor: MailboxCursor?) async throws -> MailboxPage {
      try check()
      return try await mailbox.changes(after: cursor)
    }

    func get(_ name: String, from offset: Int) async throws -> any AsyncSequence<[UInt8], any Error> {
      try check()
      return try await mailbox.get(name, from: offset)
    }

    func put(_ upload: MailboxUpload) async throws -> MailboxReceipt {
      try check()
      return try await mailbox.put(upload)
    }

    func remove(_ names: [String]) async throws {
      try check()
      try await mailbox.remove(names)
    }

    func wait(after cursor: MailboxCursor?) async throws {
      try check()
      try await mailbox.wait(after: cursor)
      try check()
    }
  }
#endif
