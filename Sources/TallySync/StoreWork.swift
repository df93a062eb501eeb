import Dispatch
import Synchronization
import TallyCRDT
import TallyStore
import TallyWire

/// The store's side of a session: what blocks a thread, one job after the other on a queue of its own.
final class StoreWork: @unchecked Sendable {
  let store: Store
  let queue = DispatchQueue(label: "tally.sync")
  // Only used on the queue.
  private var outgoing: DeltaSpool?
  private var incoming: DeltaSpool?

  init(_ store: Store) { self.store = store }

  /// Writes a delta aside. The snapshot is released before the first byte is sent, so that a slow peer holds nothing up.
  func prepare(_ transfer: UInt64, since base: StateVector) throws -> SyncSession.Event {
    discardOutgoing()
    let spool = DeltaSpool()
    outgoing = spool
    let header = try store.writeDelta(since: base, to: spool.append)
    return .prepared(transfer: transfer, header, byteCount: UInt64(spool.byteCount))
  }

  func read(_ transfer: UInt64, _ offset: UInt64, _ count: Int) throws -> SyncSession.Event {
    .read(transfer: transfer, try outgoing?.read(at: Int(offset), count) ?? [])
  }

  func keep(_ bytes: [UInt8]) throws {
    let spool = incoming ?? DeltaSpool()
    incoming = spool
    try spool.append(bytes)
  }

  func apply(isRepair: Bool) throws -> (ApplyResult, StateVector) {
    let spool = incoming ?? DeltaSpool()
    incoming = nil
    defer { spool.discard() }
    let header = try DeltaReader(from: try spool.reader()).header
    let result = try store.apply(from: try spool.reader(), isRepair: isRepair)
    return (result, header.target)
  }

  func discardOutgoing() {
    outgoing?.discard()
    outgoing = nil
  }

  /// Removes what was put aside, once the jobs under way are done.
  func discard() {
    queue.async { [self] in
      discardOutgoing()
      incoming?.discard()
      incoming = nil
    }
  }
}

/// Lets one waiting task through each time it is opened; an opening that nobody waits for is kept.
final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var isGone = false
    var waiting: CheckedContinuation<Void, Never>?
  }
  private let state = Mutex(State())

  /// Lets everybody through from now on.
  func remove() {
    state.withLock { $0.isGone = true }
    open()
  }

  func open() {
    let waiting = state.withLock { state in
      defer { state.waiting = nil }
      if state.waiting == nil { state.isOpen = true }
      return state.waiting
    }
    waiting?.resume()
  }

  /// At most one task waits at a time.
  func wait() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if state.isOpen || state.isGone {
          state.isOpen = false
          return true
        }
        state.waiting = continuation
        return false
      }
      if isOpen { continuation.resume() }
    }
  }

  /// Waits, but no longer than that.
  func wait(atMost duration: Duration) async {
    let timer = Task {
      try await Task.sleep(for: duration)
      self.open()
    }
    await wait()
    timer.cancel()
  }
}
