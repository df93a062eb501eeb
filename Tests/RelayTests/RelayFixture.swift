#if Relay
  import Foundation
  import Synchronization
  import TallyRelay
  import TallyRelayServer

  /// A relay in this process, on a free port of this machine, with a file or with a database. It ends with the test,
  /// and its folder disappears.
  final class RelayFixture: Sendable {
    let place: StoragePlace
    let port: Int
    let adminPort: Int
    let store: any RelayStorage
    private let state: State
    private let running: Task<Void, any Error>
    private let isClosed = Mutex(false)

    /// What a relay of a test takes from outside.
    final class State: Sendable {
      private let time = Mutex<Int64>(1_800_000_000)
      private let lines = Mutex<[String]>([])

      /// Seconds since 1970.
      var now: Int64 {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
      }
      var log: [String] { lines.withLock { $0 } }
      func note(_ line: String) { lines.withLock { $0.append(line) } }
    }

    private init(
      _ place: StoragePlace, _ port: Int, _ adminPort: Int, _ store: any RelayStorage, _ state: State,
      _ running: Task<Void, any Error>
    ) {
      (self.place, self.port, self.adminPort) = (place, port, adminPort)
      (self.store, self.state, self.running) = (store, state, running)
    }

    /// Starts a relay that keeps its spaces in such storage, in a file or database that is made if none is given.
    /// `open` opens the place, for what is not usual.
    static func start(
      _ kind: StorageKind = .sqlite, in place: StoragePlace? = nil, port: Int = 0,
      _ change: (inout RelaySettings) -> Void = { _ in },
      open: ((StoragePlace, State) async throws -> any RelayStorage)? = nil
    ) async throws -> RelayFixture {
      let state = State()
      let place = if let place { place } else { try await StoragePlace(kind) }
      let store =
        if let open { try await open(place, state) } else { try await place.open(.serving, time: { state.now }) }
      var settings = RelaySettings(
        address: .init(host: "127.0.0.1", port: port), admin: .init(host: "127.0.0.1", port: 0))
      // What tests ask for at once is no misuse.
      (settings.limits.requestsPerSecond, settings.limits.requestBurst) = (100_000, 100_000)
      settings.limits.draining = .seconds(5)
      settings.log = { state.note($0) }
      change(&settings)
      let server = RelayServer(storage: store, settings)
      let (ports, feed) = AsyncThrowingStream.makeStream(of: (isAdmin: Bool, port: Int).self)
      let running = Task {
        do {
          try await server.run {
            feed.yield((true, $0.port))
          } onListening: {
            feed.yield((false, $0.port))
          }
          feed.finish()
        } catch {
          feed.finish(throwing: error)
          throw error
        }
      }
      var (main, admin): (Int?, Int?) = (nil, nil)
      for try await listening in ports {
        if listening.isAdmin { admin = listening.port } else { main = listening.port }
        if main != nil, admin != nil { break }
      }
      let relay = RelayFixture(place, main ?? 0, admin ?? 0, store, state, running)
      Leftovers.note { try await relay.stop() }
      return relay
    }

    /// A folder that disappears with the test.
    static func newFolder() throws -> URL {
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tally-relay-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      Leftovers.note { try removeIfThere(folder) }
      return folder
    }

    static func removeIfThere(_ file: URL) throws {
      if FileManager.default.fileExists(atPath: file.path) { try FileManager.default.removeItem(at: file) }
    }

    deinit { running.cancel() }

    var folder: URL { place.folder }
    var base: String { "http://127.0.0.1:\(port)" }
    var log: [String] { state.log }
    var now: Int64 {
      get { state.now }
      set { state.now = newValue }
    }

    /// Asks the relay to end, and waits until it has. It may have ended already.
    func stop() async throws {
      running.cancel()
      _ = await running.result
      let isFirst = isClosed.withLock { isClosed in
        defer { isClosed = true }
        return !isClosed
      }
      if isFirst { try store.close() }
    }

    /// Makes a token, and a space unless one is given.
    func token(_ space: String? = nil, _ role: RelayRole = .writer, quota: Int64? = nil, expires: Int64? = nil)
      async throws -> RelayStore.NewToken
    {
      try await store.makeToken(space: space, role: role, quota: quota, expires: expires)
    }

    /// A mailbox for a token.
    func mailbox(_ token: RelayStore.NewToken, _ change: (inout RelayClient.Settings) -> Void = { _ in }) throws
      -> RelayMailbox
    {
      var settings = RelayClient.Settings()
      settings.timeout = .seconds(20)
      change(&settings)
      return try RelayMailbox("\(base)/s/\(token.space)", token: token.token, settings)
    }

    /// Runs a test with a relay.
    static func run(
      _ kind: StorageKind = .sqlite, _ change: (inout RelaySettings) -> Void = { _ in },
      _ body: (RelayFixture) async throws -> Void
    ) async throws {
      let relay = try await start(kind, change)
      try await body(relay)
      try await relay.stop()
    }
  }
#endif
