import CoreMetrics
import Logging

extension SyncEngine {
  /// The behavior of an engine: intervals, retries, logging and metrics. An engine reads them when it is made.
  ///
  /// ```swift
  /// var settings = SyncEngine.Settings()
  /// settings.interval = .seconds(15)
  /// settings.device = SyncDevice(name: "Ann's laptop", app: "Scores 2.1")
  /// let engine = SyncEngine(store, settings)
  /// ```
  public struct Settings: Sendable {
    /// Stay connected where the peer wants that too, and send changes as they are committed; otherwise sync again after
    /// changes and every ``interval``.
    public var isLive = true
    /// The first pause after a failure; each further one doubles it, up to ``longestRetry``, and varies, so that
    /// devices do not come all at once. A peer that asks for a longer pause gets it.
    public var shortestRetry: Duration = .seconds(1)
    /// The longest pause after failures. ``SyncEngine/syncNow()`` ends any pause.
    public var longestRetry: Duration = .seconds(300)
    /// The interval at which to sync with a peer that does not stay connected, and to look into a mailbox that cannot
    /// tell of news, as a folder cannot.
    public var interval: Duration = .seconds(60)
    /// The time for which changes are gathered for a mailbox after a pass through it, so that typing does not put a
    /// file for each letter. The first change after a while goes out at once.
    public var debounceInterval: Duration = .milliseconds(250)
    /// The interval at which to look whether another program has written into the store's file, an extension of the app
    /// for instance; nil for never. A look costs one small read.
    public var outsideInterval: Duration? = .seconds(1)
    /// The introduction of this device to its peers. With one, the store also remembers the devices that it meets:
    /// see `Store.devices()`.
    public var device: SyncDevice?
    /// The time to wait for a peer that says nothing. Then the sync fails with `SyncError.timedOut` and is tried again.
    public var timeout: Duration = .seconds(60)
    /// The destination of counters; nil for what the app has set up with `MetricsSystem.bootstrap`.
    public var metrics: (any MetricsFactory)?
    /// The logger for events, with the fields `peer`, `phase`, `error`, `sent`, `received`.
    public var logger = Logger(label: "tally.sync")
    /// Waits, for tests that do not.
    package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Between 0 and 1: what varies a pause.
    package var jitter: @Sendable () -> Double = { Double.random(in: 0...1) }

    /// Creates the default settings, which are right for an app: live where the peer wants that, otherwise once a
    /// minute; retries after one second, doubling up to five minutes; other processes' writes noticed within a second.
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
