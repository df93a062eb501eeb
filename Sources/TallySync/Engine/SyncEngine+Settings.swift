import CoreMetrics
import Logging

extension SyncEngine {
  /// The behavior of an engine: intervals, retries, logging and metrics. An engine reads them when it is created.
  ///
  /// ```swift
  /// var settings = SyncEngine.Settings()
  /// settings.interval = .seconds(15)
  /// settings.device = SyncDevice(name: "Ann's laptop", app: "Scores 2.1")
  /// let engine = SyncEngine(store, settings)
  /// ```
  public struct Settings: Sendable {
    /// Whether to stay connected if the peer wants that too, and to send changes as they are committed. Otherwise the
    /// engine syncs again after changes and every ``interval``.
    public var isLive = true
    /// The first pause after a failure. Each further failure doubles it, up to ``longestRetry``. Pauses vary at random,
    /// so devices do not all retry at once. A peer that asks for a longer pause gets it.
    public var shortestRetry: Duration = .seconds(1)
    /// The longest pause after failures. ``SyncEngine/syncNow()`` ends any pause.
    public var longestRetry: Duration = .seconds(300)
    /// The interval at which to sync with a peer that does not stay connected, and to check a mailbox that cannot
    /// announce new entries, such as a folder.
    public var interval: Duration = .seconds(60)
    /// The time during which changes are collected for a mailbox after a pass through it, so that typing does not put a
    /// file for each letter. The first change after a while is sent at once.
    public var debounceInterval: Duration = .milliseconds(250)
    /// The interval at which to check whether another program, for instance an extension of the app, has written to the
    /// store's file; nil to never check. A check costs one small read.
    public var outsideInterval: Duration? = .seconds(1)
    /// The introduction of this device to its peers; nil for none. With one, the store also remembers the devices that
    /// it meets: see `Store.devices()`.
    public var device: SyncDevice?
    /// The time to wait for a silent peer. Then the sync fails with `SyncError.timedOut` and is retried.
    public var timeout: Duration = .seconds(60)
    /// The destination of counters; nil for the one that the app has set up with `MetricsSystem.bootstrap`.
    public var metrics: (any MetricsFactory)?
    /// The logger for events. Its messages have the metadata `peer`, `phase`, `error`, `sent` and `received`.
    public var logger = Logger(label: "tally.sync")
    /// Waits, for tests that do not.
    package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Between 0 and 1: what varies a pause.
    package var jitter: @Sendable () -> Double = { Double.random(in: 0...1) }

    /// Creates the default settings, which suit an app: live if the peer wants that, otherwise one sync a minute;
    /// retries after one second, doubling up to five minutes; writes of other processes noticed within a second.
    public init() {}

    /// The pause after so many failures in a row: doubles with each up to the limit, then varies between half of it and
    /// all of it.
    func pause(after failures: Int) -> Duration {
      var pause = shortestRetry
      for _ in 1..<max(2, failures) where pause < longestRetry && failures > 1 { pause *= 2 }
      pause = min(pause, longestRetry)
      return pause / 2 + (pause / 2) * jitter()
    }
  }
}

/// A peer to sync with.
enum SyncPeer: Sendable {
  case transport(any Transport)
  case mailbox(any Mailbox, String)

  var name: String {
    switch self {
    case .transport(let transport): transport.name
    case .mailbox(_, let name): name
    }
  }

  var isConnected: Bool {
    if case .transport = self { true } else { false }
  }
}
