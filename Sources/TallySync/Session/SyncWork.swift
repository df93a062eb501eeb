import Dispatch
import TallyCRDT
import TallyStore
import TallyWire

/// The work that a session wants done with a store and the deltas that are under way. Each call may block; they are
/// made one after the other, on a `WorkQueue`, except for `cancel`, `noteLive` and `collectAtOnce`.
package protocol SyncWork: AnyObject, Sendable {
  /// Tells when others have changed the store.
  var changes: AsyncStream<Void> { get }
  /// The files that records name; nil if they can name none, or if none are to travel.
  var files: FileWork? { get }
  /// Looks where the store stands, and for parts of transfers that broke off.
  func start() throws -> SyncSession.Event
  /// See `SyncSession.Action.prepare`. Tells how far it is.
  func prepare(
    _ transfer: UInt64, since base: StateVector, peerHas parts: [SyncPart], tell: @escaping (TransferProgress) -> Void
  ) throws -> SyncSession.Event
  /// See `SyncSession.Action.read`.
  func read(_ transfer: UInt64, _ offset: UInt64, _ count: Int) throws -> SyncSession.Event
  /// See `SyncSession.Action.discard`.
  func discardOutgoing()
  /// See `SyncSession.Action.resume`.
  func resume(_ byteCount: UInt64) throws
  /// See `SyncSession.Action.keep`.
  func keep(_ bytes: [UInt8]) throws
  /// See `SyncSession.Action.apply`. Tells how far it is.
  func apply(isRepair: Bool, tell: @escaping (TransferProgress) -> Void) throws -> AppliedDelta
  /// See `SyncSession.Action.look`.
  func look() throws -> StoreSummary
  /// See `SyncSession.Action.collect`.
  func collect(since base: StateVector) throws -> (DeltaHeader, [DeltaBlock])
  /// The same if that takes no longer than a sync to the disk; otherwise nil. Comes from any thread.
  func collectAtOnce(since base: StateVector) throws -> (DeltaHeader, [DeltaBlock])?
  /// See `SyncSession.Action.applyLive`.
  func applyLive(_ header: DeltaHeader, _ block: DeltaBlock?) throws -> AppliedDelta
  /// See `SyncSession.Action.leaveMark`.
  func leaveMark(_ mark: UInt64) throws
  /// See `SyncSession.Action.lookForMark`.
  func hasMark(_ mark: UInt64) throws -> Bool
  /// See `SyncSession.Action.renewReplica`.
  func renewReplica(because reason: String) throws -> StoreSummary
  /// Remembers the peer, and what it is known to have; it was heard of so long ago.
  func remember(_ peer: ReplicaID, _ device: SyncDevice?, acknowledged: StateVector, heard ago: Duration) throws
  /// The peer, which is remembered, is still there, and has acknowledged that. Nothing is written. Comes from any
  /// thread.
  func noteLive(_ peer: ReplicaID, acknowledged: StateVector)
  /// Notes what the peer has: deletes that it has seen count as synced from now on.
  func noteShared(_ acknowledged: StateVector) throws
  /// Ends the job under way soon. Comes from any thread.
  func cancel()
  /// Removes what was put aside, or leaves it for the next session.
  func end(isKept: Bool)
}

extension SyncWork {
  package var files: FileWork? { nil }
  package func collectAtOnce(since base: StateVector) throws -> (DeltaHeader, [DeltaBlock])? { nil }
  package func leaveMark(_ mark: UInt64) throws {}
  package func hasMark(_ mark: UInt64) throws -> Bool { false }
  package func remember(
    _ peer: ReplicaID, _ device: SyncDevice?, acknowledged: StateVector, heard ago: Duration
  ) throws {}
  package func noteLive(_ peer: ReplicaID, acknowledged: StateVector) {}
  package func noteShared(_ acknowledged: StateVector) throws {}
}

/// The outcome of applying a delta.
package struct AppliedDelta: Sendable {
  package var result: ApplyResult
  /// The state of the store since.
  package var summary: StoreSummary
  /// The vector that the delta brought it to cover.
  package var target: StateVector
  /// Whether nothing of it was joined, since both sides would hold something else at equal vectors.
  package var isRefused: Bool

  package init(_ result: ApplyResult, _ summary: StoreSummary, target: StateVector, isRefused: Bool = false) {
    (self.result, self.summary, self.target, self.isRefused) = (result, summary, target, isRefused)
  }
}

/// Does jobs one after the other, off the threads that Swift's tasks share.
package protocol WorkQueue: Sendable {
  func add(_ job: @escaping @Sendable () -> Void)
}

/// A queue of the system's.
struct SystemQueue: WorkQueue {
  private let queue = DispatchQueue(label: "tally.sync")

  func add(_ job: @escaping @Sendable () -> Void) { queue.async(execute: job) }
}
