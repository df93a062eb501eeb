import Foundation
import Synchronization
import TallyCRDT
import TallyStore
import TallyWire

/// The store's side of a session: what blocks a thread, one job after the other on a queue of its own.
final class StoreWork: @unchecked Sendable {
  let store: Store
  let queue = DispatchQueue(label: "tally.sync")
  private let shelf: TransferShelf?
  // Only used on the queue.
  private var outgoing: DeltaSpool?
  private var incoming: DeltaSpool?
  private var parts: [(part: SyncPart, url: URL)] = []
  private let isCancelled = Atomic(false)

  init(_ store: Store) {
    self.store = store
    shelf = store.path.map(TransferShelf.init(besides:))
  }

  func start() throws -> SyncSession.Event {
    shelf?.tidy()
    parts = shelf?.parts() ?? []
    return .started(try store.summary(), parts: parts.map(\.part))
  }

  // MARK: Sending

  /// Writes a delta aside. The snapshot is released before the first byte is sent, so that a slow peer holds nothing up.
  func prepare(_ transfer: UInt64, since base: StateVector, peerHas parts: [SyncPart]) throws -> SyncSession.Event {
    discardOutgoing()
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
      }
      outgoing = spool
      // The same content in the same order gives the same bytes, also after a restart that left no copy of them.
      let offset = try spool.offset(after: parts) ?? 0
      return .prepared(transfer: transfer, header, byteCount: UInt64(spool.byteCount), offset: offset)
    } catch {
      spool.discard()
      throw error
    }
  }

  func read(_ transfer: UInt64, _ offset: UInt64, _ count: Int) throws -> SyncSession.Event {
    .read(transfer: transfer, try outgoing?.read(at: Int(offset), count) ?? [])
  }

  func discardOutgoing() {
    outgoing?.discard()
    outgoing = nil
  }

  // MARK: Receiving

  /// Goes on with a part that was kept.
  func resume(_ byteCount: UInt64) throws {
    incoming?.discard()
    guard let shelf, let (part, url) = parts.first(where: { $0.part.byteCount == byteCount }) else { return }
    incoming = try shelf.resume(part, at: url)
  }

  func keep(_ bytes: [UInt8]) throws {
    let spool = incoming ?? shelf?.spool(.incoming) ?? DeltaSpool()
    incoming = spool
    try spool.append(bytes)
  }

  func apply(isRepair: Bool) throws -> (ApplyResult, StateVector) {
    let spool = incoming ?? DeltaSpool()
    do {
      let header = try DeltaReader(from: try spool.reader()).header
      let pieces = try spool.reader()
      let source = {
        try self.checkCancellation()
        return try pieces()
      }
      let result = try store.apply(from: source, isRepair: isRepair)
      discardIncoming()
      return (result, header.target)
    } catch {
      // Damaged bytes and a full disk do not get better by being kept; what was only interrupted is all here.
      if !(error is CancellationError) { discardIncoming() }
      throw error
    }
  }

  private func discardIncoming() {
    incoming?.discard()
    incoming = nil
  }

  // MARK: Ending

  /// Ends the job under way soon: what it has not committed is rolled back.
  func cancel() { isCancelled.store(true, ordering: .relaxed) }

  private func checkCancellation() throws {
    if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
  }

  /// Waits for the job under way, then removes what was put aside, or leaves it for the next session.
  func end(isKept: Bool) async {
    await withCheckedContinuation { continuation in
      queue.async { [self] in
        if isKept, let shelf {
          leave(&outgoing, .outgoing, on: shelf)
          leave(&incoming, .incoming, on: shelf)
        }
        discardOutgoing()
        discardIncoming()
        shelf?.tidy()
        continuation.resume()
      }
    }
  }

  private func leave(_ spool: inout DeltaSpool?, _ kind: TransferShelf.Kind, on shelf: TransferShelf) {
    guard let left = spool else { return }
    spool = nil
    // Without it the next transfer begins anew, which is what happens on a disk that takes no more.
    do { try shelf.keep(left, kind) } catch { left.discard() }
  }
}
