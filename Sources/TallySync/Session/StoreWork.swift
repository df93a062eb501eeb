import Foundation
import Synchronization
import TallyAssets
import TallyCRDT
import TallyStore
import TallyWire

/// The store's side of a session.
package final class StoreWork: SyncWork, @unchecked Sendable {
  private let store: Store
  private let shelf: TransferShelf?
  private let follower: ChangeFollower
  package let files: FileWork?
  private let (isComparing, isIntroducing): (Bool, Bool)
  // Only used on the queue.
  private var outgoing: DeltaSpool?
  private var incoming: DeltaSpool?
  /// Whether the part to go on with was gone: what comes after it is the beginning of nothing.
  private var hasLostPart = false
  private var parts: [(part: SyncPart, url: URL)] = []
  private let isCancelled = Atomic(false)
  /// Whether the store is damaged: then it says that it is empty, gets everything, and heals.
  private var isDamaged = false
  /// Whether the store wants to be told what it holds, because it is in doubt: then its sum is none that a peer can
  /// have.
  private var isInDoubt = false
  private var hasGivenNothing = false
  /// The removals before the session: nothing is kept of its transfers if there were more meanwhile.
  private var removals: Removals?

  /// The work on a store. If `isResuming`, what broke off is kept in a folder beside the store's file, and gone on
  /// with. A session that only compares says where the store stands, damaged or not. One that introduces the device
  /// gives it an id first.
  package init(_ store: Store, isResuming: Bool = true, isComparing: Bool = false, isIntroducing: Bool = false) {
    (self.store, self.isComparing, self.isIntroducing) = (store, isComparing, isIntroducing)
    shelf = isResuming ? store.file.map(TransferShelf.init(besides:)) : nil
    files = isComparing ? nil : FileWork(store)
    // Before the store is first looked at: what is committed in between would wait for the next look.
    follower = store.follow()
  }

  package var changes: AsyncStream<Void> { follower.changes }

  package func start() throws -> SyncSession.Event {
    if isComparing { return .started(try store.summary()) }
    store.assets.finishRemovals()
    // A damaged store has notes that cannot be read; it keeps nothing of its transfers.
    removals = try? store.removals()
    shelf?.tidy()
    isDamaged = try store.checkDamage()
    if isIntroducing, !isDamaged { store.takeReplicaIfPossible() }
    isInDoubt = try store.doubt()?.level == .unvouched
    parts = isDamaged ? [] : shelf?.parts() ?? []
    return .started(try summary(), parts: parts.map(\.part))
  }

  package func look() throws -> StoreSummary { try summary() }

  package func leaveMark(_ mark: UInt64) throws { try store.leave(mark: mark) }

  package func hasMark(_ mark: UInt64) throws -> Bool { try store.has(mark: mark) }

  package func renewReplica(because reason: String) throws -> StoreSummary {
    try store.renewReplica(because: reason)
    return try summary()
  }

  /// Returns the state of the store, as far as the peer is to know.
  private func summary() throws -> StoreSummary {
    guard !isDamaged else {
      return StoreSummary(vector: StateVector(), fingerprint: Fingerprint(), replica: nil)
    }
    var summary = try store.summary()
    if isInDoubt { summary.fingerprint.first = ~summary.fingerprint.first }
    return summary
  }

  // MARK: Sending

  /// Writes a delta aside. The snapshot is released before the first byte is sent, so that a slow peer holds nothing
  /// up.
  package func prepare(
    _ transfer: UInt64, since base: StateVector, peerHas parts: [SyncPart], tell: @escaping (TransferProgress) -> Void
  ) throws -> SyncSession.Event {
    discardOutgoing()
    if isDamaged { return try prepareNothing(transfer) }
    if !parts.isEmpty, let resumed = shelf?.delta(for: parts, peer: base, own: try store.vector) {
      outgoing = resumed.spool
      return .prepared(
        transfer: transfer, resumed.header, byteCount: UInt64(resumed.spool.byteCount), offset: resumed.offset)
    }
    let spool = shelf?.spool(.outgoing) ?? DeltaSpool()
    do {
      let header = try store.writeDelta(since: base) { bytes in
        try self.checkCancellation()
        try spool.append(bytes)
        tell(TransferProgress(.preparing, UInt64(spool.byteCount), of: 0))
      }
      outgoing = spool
      // The same content in the same order gives the same bytes, also after a restart that left no copy of them.
      let offset = try spool.offset(after: parts) ?? 0
      return .prepared(transfer: transfer, header, byteCount: UInt64(spool.byteCount), offset: offset)
    } catch let error as StoreError where error.code == .damaged {
      spool.discard()
      isDamaged = true
      return try prepareNothing(transfer)
    } catch {
      spool.discard()
      throw error
    }
  }

  /// A delta of nothing: the peer's content is what counts. Once: a peer that has nothing either cannot help.
  private func prepareNothing(_ transfer: UInt64) throws -> SyncSession.Event {
    guard !hasGivenNothing else {
      let reason = try store.doubt().map { ": \($0.reason)" } ?? ""
      throw SyncError(.damaged, "what this store holds is damaged\(reason)")
    }
    hasGivenNothing = true
    let spool = DeltaSpool()
    let header = DeltaHeader(base: StateVector(), target: StateVector())
    var writer = try DeltaWriter(header: header, to: spool.append)
    try writer.finish()
    outgoing = spool
    return .prepared(transfer: transfer, header, byteCount: UInt64(spool.byteCount))
  }

  package func read(_ transfer: UInt64, _ offset: UInt64, _ count: Int) throws -> SyncSession.Event {
    .read(transfer: transfer, try outgoing?.read(at: Int(offset), count) ?? [])
  }

  package func discardOutgoing() {
    outgoing?.discard()
    outgoing = nil
  }

  package func collect(since base: StateVector) throws -> (DeltaHeader, [DeltaBlock]) { try store.blocks(since: base) }

  package func collectAtOnce(since base: StateVector) throws -> (DeltaHeader, [DeltaBlock])? {
    try store.blocksInMemory(since: base)
  }

  // MARK: Receiving

  /// Goes on with a part that was kept.
  package func resume(_ byteCount: UInt64) throws {
    incoming?.discard()
    guard let shelf, let (part, url) = parts.first(where: { $0.part.byteCount == byteCount }) else { return }
    incoming = nil
    do { incoming = try shelf.resume(part, at: url) } catch {
      hasLostPart = true
      throw error
    }
  }

  package func keep(_ bytes: [UInt8]) throws {
    guard !hasLostPart else { return }
    let spool = incoming ?? shelf?.spool(.incoming) ?? DeltaSpool()
    incoming = spool
    try spool.append(bytes)
  }

  package func apply(isRepair: Bool, tell: @escaping (TransferProgress) -> Void) throws -> AppliedDelta {
    let spool = incoming ?? DeltaSpool()
    var step = TransferProgress(.applying, 0, of: UInt64(spool.byteCount))
    do {
      let header = try DeltaReader(from: try spool.reader()).header
      let pieces = try spool.reader()
      let source = {
        try self.checkCancellation()
        tell(step)
        let piece = try pieces()
        step.bytes += UInt64(piece?.count ?? 0)
        return piece
      }
      let result = try store.apply(from: source, isRepair: isRepair, refusesMismatch: true) {
        step.records += $0
        tell(step)
      }
      discardIncoming()
      isDamaged = try store.isDamaged
      // After a repair the peer has been asked.
      if isRepair { isInDoubt = false }
      return AppliedDelta(result, try summary(), target: header.target)
    } catch let error as StoreError where error.code == .contentsDiffer {
      discardIncoming()
      return AppliedDelta(ApplyResult(), try summary(), target: StateVector(), isRefused: true)
    } catch let error as StoreError where error.code == .damagedSender {
      discardIncoming()
      throw SyncError(.damaged, "what the peer holds is damaged, and nothing of it was taken", cause: error)
    } catch {
      // Damaged bytes and a full disk do not get better by being kept; what was only interrupted is all here.
      if !(error is CancellationError) { discardIncoming() }
      throw error
    }
  }

  package func applyLive(_ header: DeltaHeader, _ block: DeltaBlock?) throws -> AppliedDelta {
    let commit = try store.apply(header, block.map { [$0] } ?? [], by: follower)
    return AppliedDelta(commit.value, commit.summary, target: header.target)
  }

  private func discardIncoming() {
    incoming?.discard()
    incoming = nil
  }

  // MARK: Ending

  package func remember(
    _ peer: ReplicaID, _ device: SyncDevice?, acknowledged: StateVector, heard ago: Duration
  ) throws {
    let date = store.now - ago / .seconds(1)
    try store.remember([KnownDevice(peer, device, lastSeen: date, acknowledged: acknowledged)])
    store.livePeers.withLock { $0[peer] = nil }
  }

  package func noteLive(_ peer: ReplicaID, acknowledged: StateVector) {
    let now = store.now
    store.livePeers.withLock { $0[peer] = (acknowledged, now) }
  }

  package func noteShared(_ acknowledged: StateVector) throws { try store.noteShared(acknowledged) }

  /// Ends the job under way soon: what it has not committed is rolled back.
  package func cancel() {
    isCancelled.store(true, ordering: .relaxed)
    files?.cancel()
  }

  private func checkCancellation() throws {
    if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
  }

  package func end(isKept: Bool) {
    if isKept, let shelf, let removals, let now = try? store.removals(), now.all == removals.all {
      leave(&outgoing, .outgoing, on: shelf)
      leave(&incoming, .incoming, on: shelf)
    }
    discardOutgoing()
    discardIncoming()
    shelf?.tidy()
    // What was removed while files were in use goes now.
    store.finishRemovalsIfPossible()
  }

  private func leave(_ spool: inout DeltaSpool?, _ kind: TransferShelf.Kind, on shelf: TransferShelf) {
    guard let left = spool else { return }
    spool = nil
    // Without it the next transfer starts from the beginning, as it does when the disk is full.
    do { try shelf.keep(left, kind) } catch { left.discard() }
  }
}
