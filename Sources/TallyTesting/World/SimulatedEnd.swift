import TallyCRDT
import TallyStore
import TallySync
import TallyWire

/// One end of a simulated connection: a sync as it ships, of one device, with a world that watches.
final class SimulatedEnd {
  let replica: SimulatedReplica
  let work: WatchedWork
  let step: StepEnd

  /// Whether the app has cancelled the sync.
  private(set) var isCancelled = false

  init(_ replica: SimulatedReplica, isLive: Bool, chunkLimit: Int, capacity: Int) {
    self.replica = replica
    work = WatchedWork(replica, chunkLimit: chunkLimit)
    var settings = SyncSettings()
    settings.isLive = isLive
    step = StepEnd(work, replica.world.time, StepConnection(capacity: capacity), settings) { [work] in
      WatchedConnection($0, work)
    }
  }

  var isLive: Bool { !step.isOver && step.progress.phase == .live }
  /// Whether nothing is under way here or from here.
  var isQuiet: Bool { step.isIdle && !step.connection.hasNews && step.connection.arrivedCount == 0 }

  func cancel() {
    isCancelled = true
    step.cancel()
  }

  /// Whether it has ended, or will, without that anything is wrong, and may have closed without a word.
  var hasGivenUp: Bool { isCancelled || work.isStopped || work.hasLostPart || code == .timedOut }

  private var code: SyncError.Code? { (error as? SyncError)?.code }

  private var error: (any Error)? {
    guard case .failure(let error)? = step.result else { return nil }
    return error
  }

  /// Returns the error, unless it is that the device stopped, the app cancelled, a side waited for too long, or the
  /// connection broke. The last is excused only if `isBroken`: it did break, or the other end may have closed it.
  func failure(isBroken: Bool) -> (any Error)? {
    guard let error else { return nil }
    if error is CancellationError { return hasGivenUp ? nil : error }
    if code == .timedOut || isBroken && code == .disconnected { return nil }
    return error
  }
}

/// The work that a session wants done with a device's store, done by the code that ships, while the world keeps
/// account of what each message carries.
///
/// All of it runs in the thread of the world, which makes each step itself; only that is why it may be `@unchecked
/// Sendable`.
final class WatchedWork: SyncWork, @unchecked Sendable {
  private let replica: SimulatedReplica
  private let base: StoreWork
  /// The most bytes of a chunk: small ones make long transfers of small stores.
  private let chunkLimit: Int
  /// The other end, which knows what its deltas carry.
  weak var other: WatchedWork?
  /// The events that the replica had seen when a transfer was read, and when a live change was, oldest first.
  private var sentTransfers: [UInt64: EventSet] = [:]
  private var collected: [(target: StateVector, seen: EventSet)] = []
  /// The bytes of a transfer that have come so far.
  private var incoming: [UInt8] = []
  private var incomingTransfer: UInt64 = 0
  /// The part that this session has offered to go on with.
  private var offered: [UInt8] = []
  /// Whether another session has gone on with that part: then this one ends, and the next sync starts it over.
  private(set) var hasLostPart = false
  /// Whether the device has stopped: its store is not touched any more.
  private(set) var isStopped = false

  init(_ replica: SimulatedReplica, chunkLimit: Int) {
    self.replica = replica
    self.chunkLimit = chunkLimit
    // What stays of a transfer is the world's, and not in a folder of this machine.
    base = StoreWork(replica.store, isResuming: false)
  }

  var changes: AsyncStream<Void> { base.changes }

  /// The device stops without a word.
  func stop() {
    isStopped = true
    keepPart()
  }

  private func checkRunning() throws { if isStopped || hasLostPart { throw CancellationError() } }

  private func keepPart() {
    if !incoming.isEmpty { replica.part = incoming }
    incoming = []
  }

  // MARK: Messages

  func sees(received message: SyncMessage) {
    switch message {
    // A transfer of which everything is here already has no chunks.
    case .transfer(let transfer, _, _), .chunk(let transfer, _, _, _): incomingTransfer = transfer
    default: break
    }
  }

  // MARK: Work

  func start() throws -> SyncSession.Event {
    try checkRunning()
    _ = try base.start()
    offered = replica.part
    let parts = offered.isEmpty ? [] : [SyncPart(of: offered)]
    return .started(try replica.store.summary(), parts: parts)
  }

  func prepare(
    _ transfer: UInt64, since asked: StateVector, peerHas parts: [SyncPart],
    tell: @escaping (TransferProgress) -> Void
  ) throws -> SyncSession.Event {
    try checkRunning()
    let peer = other?.replica.index ?? 0
    let tampering = replica.world.tampering
    let event = try base.prepare(
      transfer, since: tampering?.wanted(asked, from: replica.index, to: peer) ?? asked, peerHas: parts, tell: tell)
    guard case .prepared(_, let header, _, let offset) = event else { return event }
    if offset > 0 { replica.world.note("a transfer goes on at byte \(offset)") }
    sentTransfers[transfer] = replica.seen
    tampering?.noteSent(header.target, from: replica.index, to: peer)
    return event
  }

  func read(_ transfer: UInt64, _ offset: UInt64, _ count: Int) throws -> SyncSession.Event {
    try checkRunning()
    return try base.read(transfer, offset, min(count, chunkLimit))
  }

  func discardOutgoing() { base.discardOutgoing() }

  func resume(_ byteCount: UInt64) throws {
    try checkRunning()
    guard replica.part == offered, UInt64(offered.count) == byteCount else {
      hasLostPart = true
      throw SyncError(.disconnected, "another session has gone on with the part")
    }
    incoming = replica.part
    replica.part = []
    try base.keep(incoming)
  }

  func keep(_ bytes: [UInt8]) throws {
    try checkRunning()
    incoming += bytes
    try base.keep(bytes)
  }

  func apply(isRepair: Bool, tell: @escaping (TransferProgress) -> Void) throws -> AppliedDelta {
    try checkRunning()
    incoming = []
    let watch = try replica.watch()
    let applied = try base.apply(isRepair: isRepair, tell: tell)
    try replica.learn(other?.sentTransfers[incomingTransfer] ?? EventSet())
    try watch?.end(of: replica)
    return applied
  }

  func look() throws -> StoreSummary {
    try checkRunning()
    return try base.look()
  }

  func collect(since vector: StateVector) throws -> (DeltaHeader, [DeltaBlock]) {
    try checkRunning()
    let result = try base.collect(since: vector)
    collected.append((result.0.target, replica.seen))
    return result
  }

  func applyLive(_ sent: DeltaHeader, _ block: DeltaBlock?) throws -> AppliedDelta {
    try checkRunning()
    let header = try replica.world.tampering?.live(sent) { try replica.store.vector } ?? sent
    let watch = try replica.watch()
    let applied = try base.applyLive(header, block)
    // Several may have been read since it was, and not have gone out: they lead beyond it, or only to what this side
    // has sent itself.
    try replica.learn(other?.collected.last { sent.target.covers($0.target) }?.seen ?? EventSet())
    try watch?.end(of: replica)
    return applied
  }

  func renewReplica(because reason: String) throws -> StoreSummary {
    try checkRunning()
    try replica.renew(reason)
    return try base.look()
  }

  func cancel() { base.cancel() }

  func end(isKept: Bool) {
    if isKept { keepPart() }
    base.end(isKept: false)
  }
}

/// A connection whose messages a world reads along.
private final class WatchedConnection: SyncConnection {
  private let base: StepConnection
  private let work: WatchedWork

  init(_ base: StepConnection, _ work: WatchedWork) { (self.base, self.work) = (base, work) }

  func send(_ message: [UInt8]) async throws { try await base.send(message) }

  func receive() async throws -> [UInt8]? {
    guard let message = try await base.receive() else { return nil }
    work.sees(received: try SyncMessage(message))
    return message
  }

  func close() async { await base.close() }
}
