#if Postgres
  import Foundation
  import Synchronization
  import TallyRelayProtocol

  /// The database of a relay: spaces, their logs, and who may do what, in PostgreSQL. Any number of processes serve
  /// from it at once.
  ///
  /// Every acknowledged write is committed there; how safe that is depends on the server (`fsync`, standbys). While
  /// the server cannot be reached, requests are answered with 503, and then it continues by itself.
  ///
  /// <!-- not compiled here: examples are compiled without the trait Postgres -->
  /// ```swift
  /// let store = try await PostgresRelayStore("postgres://tally@db/tally?sslmode=verify-full", for: .serving)
  /// let server = RelayServer(store, RelaySettings(address: .init(host: "127.0.0.1", port: 8480)))
  /// try await server.run { print("listening on \($0.host):\($0.port)") }
  /// ```
  public final class PostgresRelayStore: Sendable {
    /// The settings that tests change.
    package struct Settings: Sendable {
      /// The number of connections that read.
      package var readers = 4
      /// The interval at which the logs that somebody waits for are compared with what is known of them.
      package var comparison: Duration = .seconds(10)
      /// The time after a failure until the next attempt to connect, to hear of news.
      package var reconnection: Duration = .seconds(1)
      /// The time that a pooler before the database may take to find a session, at the start.
      package var poolerPatience: Duration = .seconds(10)
      /// The seconds since 1970; nil for the database's clock.
      package var time: (@Sendable () -> Int64)?
      /// The usual ones.
      package init() {}
    }

    /// The follower of what others append, once somebody waits for that.
    private final class Follower: Sendable {
      let state = Mutex<PostgresFollower?>(nil)
    }

    let address: PostgresAddress
    let settings: Settings
    let reading: PostgresThreads
    let commits: PostgresCommits
    private let purpose: RelayStore.Purpose
    private let notifier: PostgresNotifier
    private let follower: Follower
    package let now: @Sendable () -> Int64 = RelayStore.systemTime
    package let random: RelayStore.Random

    /// Opens a relay's database; makes its tables if they are not there.
    /// - Parameters:
    ///   - url: the database, as libpq takes it. It is kept in memory and shown nowhere.
    ///   - purpose: whether it serves, and tells others of what it appends, or only looks after tokens and spaces.
    ///   - mayCreate: whether to make the tables if they are not there, which is an error otherwise.
    ///   - random: makes ids and tokens; must not be guessable.
    /// - Throws: `RelayStoreError` if the URL is malformed, the server cannot be reached, a pooler before it keeps no
    ///   sessions, or the tables are something else's or a newer version's. Nothing was changed then.
    public convenience init(
      _ url: String, for purpose: RelayStore.Purpose, mayCreate: Bool = true,
      random: @escaping RelayStore.Random = RelayStore.systemRandom
    ) async throws {
      try await self.init(url, for: purpose, mayCreate: mayCreate, random: random, Settings())
    }

    package init(
      _ url: String, for purpose: RelayStore.Purpose, mayCreate: Bool = true,
      random: @escaping RelayStore.Random = RelayStore.systemRandom, _ settings: Settings
    ) async throws {
      address = try PostgresAddress(url)
      (self.settings, self.purpose, self.random) = (settings, purpose, random)
      reading = PostgresThreads(address, count: settings.readers) { try $0.keepPlans() }
      let notifier = PostgresNotifier(address)
      self.notifier = notifier
      let follower = Follower()
      self.follower = follower
      commits = PostgresCommits(address, settings.time) { heads in
        Self.tell(heads, purpose, follower, notifier)
      }
      do {
        try await reading.run { [address] session in
          try PostgresPooling.check(session, address, purpose, patience: settings.poolerPatience)
          try PostgresSchema.migrate(session, mayCreate: mayCreate)
        }
      } catch let error as PostgresError {
        close()
        let isAway = if error.isDisconnected { await Self.isAway(address) } else { false }
        throw RelayStoreError(isAway ? .unreachable : .refused, error.fault)
      } catch {
        close()
        throw error
      }
    }

    /// Whether time may help where a connection has failed. Asked on a thread of its own, since that blocks.
    private static func isAway(_ address: PostgresAddress) async -> Bool {
      await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: PostgresSession.isAway(address)) }
      }
    }

    /// Hears of what others append, and compares from time to time, in case nobody has said anything.
    package func follow(
      watched: @escaping @Sendable () -> [Int64], announce: @escaping @Sendable (Int64) -> Void
    ) {
      follower.state.withLock { follower in
        guard follower == nil else { return }
        follower = PostgresFollower(
          address, reading, settings, watched: watched, announce: announce, isOwn: { [notifier] in notifier.isOwn($0) })
      }
    }

    /// Tells other processes how far logs have come. An administrator's puts, which are tests', are found by comparing.
    func tell(_ heads: [Int64: Int64]) { Self.tell(heads, purpose, follower, notifier) }

    private static func tell(
      _ heads: [Int64: Int64], _ purpose: RelayStore.Purpose, _ follower: Follower, _ notifier: PostgresNotifier
    ) {
      guard purpose == .serving else { return }
      follower.state.withLock { $0 }?.note(heads)
      notifier.tell(heads)
    }

    /// Waits until nobody reads or writes, and closes the connections.
    public func close() {
      follower.state.withLock { $0 }?.close()
      commits.threads.close()
      notifier.close()
      reading.close()
    }
  }

  extension PostgresRelayStore: RelayStorage {
    package var commitCounts: (commits: Int, writes: Int) {
      get async { commits.counts }
    }
    package var warnings: [String] { [] }

    package func releaseMemory() {}

    package func limitFile(to bytes: Int64) async throws {
      throw RelayStoreError(.refused, "the size of a database is for its server to limit")
    }
  }

  extension RelayServer {
    /// A server on a database. It does not listen before it runs.
    public init(_ store: PostgresRelayStore, _ settings: RelaySettings) { self.init(storage: store, settings) }
  }
#endif
