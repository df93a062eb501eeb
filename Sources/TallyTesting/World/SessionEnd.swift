import TallyCRDT
import TallyStore
import TallySync
import TallyWire

/// One end of a simulated connection: the session decides, this performs, one step at a time and only when told to.
final class SessionEnd {
  let replica: SimulatedReplica
  private(set) var session: SyncSession
  /// What waits for the store, in order.
  private(set) var jobs: [SyncSession.Action] = []
  /// What the store has answered and the session does not know yet.
  private(set) var answers: [SyncSession.Event] = []
  /// Messages that are on their way to the other end.
  var outbox: [[UInt8]] = []
  private var outgoing: [UInt8] = []
  private var incoming: [UInt8] = []
  /// The most bytes of a chunk: small ones make long transfers of small stores.
  private let chunkLimit: Int
  /// What the replica had seen when a transfer or a live change was read.
  private(set) var sentTransfers: [UInt64: EventSet] = [:]
  private(set) var sentLive: [UInt64: EventSet] = [:]
  private var collected = EventSet()
  private var incomingTransfer: UInt64 = 0
  private var appliedLive: UInt64 = 0

  init(_ replica: SimulatedReplica, isLive: Bool, chunkLimit: Int) throws {
    self.replica = replica
    self.chunkLimit = chunkLimit
    session = SyncSession(isLive: isLive)
    try take(.started(try replica.store.summary(), parts: replica.part.isEmpty ? [] : [Self.part(replica.part)]))
  }

  var isFinished: Bool { session.isFinished }
  var isIdle: Bool { jobs.isEmpty && answers.isEmpty && outbox.isEmpty }

  /// Takes a message from the other end.
  func receive(_ bytes: [UInt8]) throws {
    let message = try SyncMessage(bytes)
    switch message {
    // A transfer of which everything is here already has no chunks.
    case .transfer(let transfer, _, _), .chunk(let transfer, _, _, _): incomingTransfer = transfer
    default: break
    }
    try take(.message(message))
  }

  /// The store has changed.
  func noteChange() { answers.append(.noticed) }

  private func take(_ event: SyncSession.Event) throws {
    for action in try session.handle(event) {
      guard case .send(let message) = action else {
        jobs.append(action)
        continue
      }
      if case .live(let live) = message { sentLive[live.number] = collected }
      outbox.append(message.encoded())
    }
  }

  /// Tells the session what the store has answered: other things may have happened in between.
  func takeAnswer() throws { try take(answers.removeFirst()) }

  /// Performs the next thing that waits for the store.
  /// - Parameter other: the other end, which knows what its deltas carry.
  func work(_ other: SessionEnd) throws {
    guard !jobs.isEmpty else { return }
    try perform(jobs.removeFirst(), other)
  }

  private func perform(_ action: SyncSession.Action, _ other: SessionEnd) throws {
    switch action {
    case .prepare(let transfer, let asked, let parts):
      let base = replica.world.assumed(asked, replica.index, other.replica.index)
      outgoing = []
      var bytes: [UInt8] = []
      let header = try replica.store.writeDelta(since: base) { bytes += $0 }
      outgoing = bytes
      // The same content in the same order gives the same bytes: the peer may have a part of them.
      let known = parts.filter {
        $0.byteCount <= UInt64(bytes.count) && Self.part(bytes.prefix(Int($0.byteCount))) == $0
      }
      let offset = known.map(\.byteCount).max() ?? 0
      if offset > 0 { replica.world.note("a transfer goes on at byte \(offset)") }
      sentTransfers[transfer] = replica.seen
      replica.world.noteSent(header.target, replica.index, other.replica.index)
      answers.append(.prepared(transfer: transfer, header, byteCount: UInt64(bytes.count), offset: offset))
    case .read(let transfer, let offset, let count):
      let end = min(outgoing.count, Int(offset) + min(count, chunkLimit))
      answers.append(.read(transfer: transfer, Array(outgoing[Int(offset)..<end])))
    case .discard: outgoing = []
    case .resume: incoming = replica.part
    case .keep(let bytes): incoming += bytes
    case .apply(let isRepair): try apply(isRepair, other)
    case .look: answers.append(.changed(try replica.store.summary()))
    case .collect(let base):
      let (header, blocks) = try replica.store.blocks(since: base)
      collected = replica.seen
      answers.append(.collected(header, blocks))
    case .applyLive(let header, let block): try applyLive(header, block, other)
    case .renewReplica(let reason):
      try replica.renew(reason)
      answers.append(.renewed(try replica.store.summary()))
    case .finish, .send: break
    }
  }

  private static func part(_ bytes: some Collection<UInt8>) -> SyncPart {
    var hash = SipHash()
    for byte in bytes { hash.combine(byte: byte) }
    return SyncPart(byteCount: UInt64(bytes.count), check: hash.finalized())
  }

  /// The connection is gone: what has come of a transfer stays for the next one.
  func leave() { if !incoming.isEmpty { replica.part = incoming } }

  private func apply(_ isRepair: Bool, _ other: SessionEnd) throws {
    let bytes = incoming
    incoming = []
    let target = try DeltaReader(bytes).header.target
    try replica.store.apply(bytes, isRepair: isRepair)
    try replica.learn(other.sentTransfers[incomingTransfer] ?? EventSet())
    answers.append(.applied(try replica.store.summary(), target: target))
  }

  private func applyLive(_ sent: DeltaHeader, _ block: DeltaBlock?, _ other: SessionEnd) throws {
    var header = sent
    if replica.world.planted.contains(.liveChangeClaimsReceiver) { header.target.merge(session.standing) }
    _ = try replica.store.apply(header, block.map { [$0] } ?? [])
    appliedLive += 1
    try replica.learn(other.sentLive[appliedLive] ?? EventSet())
    answers.append(.applied(try replica.store.summary(), target: header.target))
  }
}
