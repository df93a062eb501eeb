import CoreMetrics
import TallyCRDT
import TallyStore

/// The outcome of a sync over a connection, as `Store.sync(over:_:)` and ``SyncEngine/accept(_:from:)`` return it: what
/// has changed here, what went over, and who the peer is. That it is returned at all means that both sides had what the
/// other had when they met.
public struct SyncOutcome: Sendable, Equatable {
  /// Records and links of this store that changed.
  public var changes = 0
  /// Concurrent writes that lost, now in the conflict journal.
  public var conflicts = 0
  /// Bytes of deltas sent and received.
  public var bytesSent: UInt64 = 0, bytesReceived: UInt64 = 0
  /// Bytes of all messages, both ways.
  public var messageBytes: UInt64 = 0
  /// Whether everything was exchanged, because vectors were equal and contents were not.
  public var repaired = false
  /// Whether what was stored here was damaged, or in doubt, and the peer's content was taken in its place.
  public var isHealed = false
  /// What could not be checked after healing: see `ApplyResult.inDoubt`.
  public var inDoubt: [String] = []
  /// Transactions that this store has and the peer lacks, since they were written while the sync ran: they go over with
  /// the next. The sync has done what it is for all the same: each side holds everything that the other had when they
  /// met. nil if that is not known, or if the session followed changes to its end.
  public var newerChanges: UInt64?
  /// The peer's replica; nil if it has not written yet, and does not introduce itself.
  public var peer: ReplicaID?
  /// The peer's introduction; nil if it has given none.
  public var device: SyncDevice?

  /// The relation of both sides, if the session only compared.
  package var comparison: SyncComparison?

  /// The outcome of a sync that did nothing.
  public init() {}
}

/// The settings of a session over a connection.
public struct SyncSettings: Sendable {
  /// Stay connected and follow changes, if the peer wants that as well.
  public var isLive = false
  /// The time to wait for the peer while something is due from it.
  public var timeout: Duration = .seconds(60)
  /// The interval at which a live session announces that it is still there.
  public var heartbeat: Duration = .seconds(10)
  /// The interval at which a live session looks for writes of other processes. Writes of this process are sent at
  /// once.
  public var outsideInterval: Duration = .seconds(1)
  /// The introduction of this device to the peer. With one, the store also remembers the devices that it meets: see
  /// `Store.devices()`.
  public var device: SyncDevice?
  /// The destination of counters; nil for what the app has set up with `MetricsSystem.bootstrap`.
  public var metrics: (any MetricsFactory)?
  /// The time that the last message of a sync that failed may take, either way.
  package var patience: Duration = .seconds(1)
  /// Whether nothing is exchanged but where both sides stand.
  package var isComparing = false
  package var mode: SyncSession.Mode { isComparing ? .compare : isLive ? .live : .once }
  /// Called after each step of the session.
  public var onProgress: (@Sendable (SyncSession.Progress) -> Void)?

  /// The default settings: one sync, then the session ends.
  public init() {}
}

extension Store {
  /// Syncs with the peer at the other end of a connection, and closes it.
  ///
  /// ```swift
  /// let home = ProcessTransport(command: "ssh home.example tally serve scores.tally --stdio", name: "home")
  /// let outcome = try await store.sync(over: home.open())
  /// print(outcome.changes, outcome.bytesSent + outcome.bytesReceived)
  /// ```
  ///
  /// Each delta is applied whole or not at all. If the connection breaks, what was applied stays, and the next sync
  /// does the rest. An engine does this for each of its peers, and tries again; call it where one attempt is what is
  /// wanted, as in a tool. It blocks no thread of a task.
  /// - Returns: what was done. A live session returns when the peer closes.
  /// - Throws: ``SyncError``; `WireError` for damaged bytes; what the store throws, `StoreError.damaged` also if it is
  ///   damaged and the peer has nothing to heal it with; `CancellationError`.
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
