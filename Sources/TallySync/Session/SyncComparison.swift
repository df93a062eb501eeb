import CoreMetrics
import TallyCRDT
import TallyStore
import TallyWire

/// The result of comparing a store with a peer.
public struct SyncComparison: Sendable, Equatable {
  /// The peer's replica; nil if it has not written yet and does not introduce itself.
  public var peer: ReplicaID?
  /// The numbers of transactions that only the peer has, and that only this store has.
  public var lacking: UInt64 = 0, ahead: UInt64 = 0
  /// Whether both have seen the same transactions.
  public var isSameVector = false
  /// Whether both have the same content.
  public var isSameContent = false
  /// Whether there is nothing to sync.
  public var isEqual: Bool { isSameVector && isSameContent }
}

extension Store {
  /// Compares this store with the peer at the other end of a connection, and closes the connection. Both sides exchange
  /// only their state vectors and fingerprints, and neither changes.
  /// - Parameters:
  ///   - connection: a new, unused connection; it cannot be used afterwards.
  ///   - timeout: the total time to wait for the peer.
  /// - Returns: the number of transactions that each side lacks, and whether both have the same content.
  /// - Throws: `SyncError`; `WireError` for damaged bytes; `CancellationError`.
  public func compare(over connection: any SyncConnection, timeout: Duration = .seconds(60)) async throws
    -> SyncComparison
  {
    var settings = SyncSettings()
    (settings.isComparing, settings.timeout, settings.metrics) = (true, timeout, NOOPMetricsHandler.instance)
    let work = StoreWork(self, isResuming: false, isComparing: true)
    let runner = SyncRunner(work, on: SystemQueue(), RealTime(), connection, settings)
    return try await withThrowingTaskGroup(of: SyncComparison?.self) { group in
      group.addTask { try await runner.run().comparison }
      // A peer that sends nothing but signs of life is not waited for either.
      group.addTask {
        try await Task.sleep(for: timeout)
        throw SyncError(.timedOut, "the peer does not say where it stands")
      }
      defer { group.cancelAll() }
      guard let first = try await group.next(), let comparison = first else {
        throw SyncError(.disconnected, "the connection ended before the peer said where it stands")
      }
      return comparison
    }
  }
}

extension SyncError {
  /// Says that a peer only wanted to compare. It is no failure: both end in order.
  static let compared = "compared"
}
