import CoreMetrics
import TallyCRDT
import TallyStore

/// The outcome of a sync over a connection, as `Store.sync(over:_:)` and ``SyncEngine/accept(_:from:)`` return it: the
/// changes in this store, the bytes sent and received, and the peer's identity. If a sync returns it, both sides have
/// everything that the other had when they met.
public struct SyncOutcome: Sendable, Equatable {
  /// The number of records and links of this store that changed.
  public var changes = 0
  /// The number of concurrent writes that lost and are now in the conflict journal.
  public var conflicts = 0
  /// The numbers of bytes of deltas sent and received.
  public var bytesSent: UInt64 = 0, bytesReceived: UInt64 = 0
  /// The number of bytes of all messages, in both directions.
  public var messageBytes: UInt64 = 0
  /// Whether everything was exchanged as a repair, because the vectors were equal but the contents were not.
  public var repaired = false
  /// Whether this store's content was damaged or in doubt and the peer's content replaced it.
  public var isHealed = false
  /// The records and links that could not be checked after healing: see `ApplyResult.inDoubt`.
  public var inDoubt: [String] = []
  /// The number of transactions that only this store has because they were written while the sync ran; the next sync
  /// transfers them. The sync has succeeded all the same: each side has everything that the other had when they met.
  /// Nil if the number is unknown, or if the session was live until its end.
  public var newerChanges: UInt64?
  /// The peer's replica; nil if it has not written yet and does not introduce itself.
  public var peer: ReplicaID?
  /// The peer's introduction; nil if it has not introduced itself.
  public var device: SyncDevice?
  /// The files of assets, such as pictures, that have come and gone, and those that could not be taken; nil if none
  /// travel: one of both sides has no records that could name any, or its app is too old.
  public var assets: AssetTransfers?

  /// The relation of both sides, if the session only compared.
  package var comparison: SyncComparison?

  /// Creates the outcome of a sync that did nothing.
  public init() {}
}

/// The settings of a session over a connection.
public struct SyncSettings: Sendable {
  /// Whether to stay connected and follow changes, if the peer wants that too.
  public var isLive = false
  /// The time to wait for the peer while an answer from it is due.
  public var timeout: Duration = .seconds(60)
  /// The interval at which a live session reports that it is still connected.
  public var heartbeat: Duration = .seconds(10)
  /// The interval at which a live session checks for writes of other processes. Writes of this process are sent at
  /// once.
  public var outsideInterval: Duration = .seconds(1)
  /// The introduction of this device to the peer; nil for none. With one, the store also remembers the devices that it
  /// meets: see `Store.devices()`.
  public var device: SyncDevice?
  /// The destination of counters; nil for the one that the app has set up with `MetricsSystem.bootstrap`.
  public var metrics: (any MetricsFactory)?
  /// The time that the last message of a sync that failed may take, either way.
  package var patience: Duration = .seconds(1)
  /// How long files may travel in a session that is not live before it ends, so that records need not wait; nil for as
  /// long as they take.
  package var fileTime: Duration?
  /// Whether nothing is exchanged but where both sides stand.
  package var isComparing = false
  package var mode: SyncSession.Mode { isComparing ? .compare : isLive ? .live : .once }
  /// A function that is called with the progress after each step of the session.
  public var onProgress: (@Sendable (SyncSession.Progress) -> Void)?

  /// Creates the default settings: one sync, then the session ends.
  public init() {}
}

extension Store {
  /// Syncs with the peer at the other end of a connection, and closes the connection.
  ///
  /// ```swift
  /// let home = ProcessTransport(command: "ssh home.example tally serve scores.tally --stdio", name: "home")
  /// let outcome = try await store.sync(over: home.open())
  /// print(outcome.changes, outcome.bytesSent + outcome.bytesReceived)
  /// ```
  ///
  /// Each delta is applied whole or not at all. If the connection breaks, deltas that were applied stay, and the next
  /// sync does the rest. An engine does this for each of its peers, and retries; call it directly for a single attempt,
  /// as in a tool. It does not block the task's thread.
  /// - Returns: the outcome of the sync. A live session returns when the peer closes the connection.
  /// - Throws: ``SyncError``; `WireError` for damaged bytes; the store's errors, including `StoreError.damaged` if it
  ///   is damaged and the peer cannot heal it; `CancellationError`.
  @discardableResult
  public func sync(over connection: any SyncConnection, _ settings: SyncSettings = SyncSettings()) async throws
    -> SyncOutcome
  {
    let outcome = try await withTaskExecutorPreference(QueueExecutor("tally.session")) {
      try await SyncRunner(self, connection, settings).run()
    }
    if try isDamaged { throw SyncError(.damaged, "what this store holds is damaged, and the peer has nothing") }
    return outcome
  }
}
