import TallyCRDT
import TallyStore
import TallyWire

/// Replicas by number, in one direction of a session: both sides keep the same table, so that a live change need not
/// spell ids.
struct LiveTable: Sendable {
  /// The most live changes that may be under way.
  static let windowCount = 64

  /// Each replica with the sequence that the last live change, or the greeting, gave it.
  private(set) var entries: [Dot]
  private var numbers: [ReplicaID: Int]

  init(_ vector: StateVector) {
    entries = vector.entries
    numbers = Dictionary(uniqueKeysWithValues: entries.enumerated().map { ($0.element.replica, $0.offset) })
  }

  /// Raises the table to `target` where it is beyond `known`, and adds the replicas that it lacks: a delete names
  /// everything that its author had seen, also what came over by a transfer of this session. Tells how.
  mutating func advance(to target: StateVector, beyond known: StateVector) -> [SyncLive.Advance] {
    var advances: [SyncLive.Advance] = []
    for dot in target.entries {
      if let number = numbers[dot.replica] {
        guard dot.sequence > known[dot.replica], dot.sequence > entries[number].sequence else { continue }
        advances.append(.init(number: number, added: nil, count: dot.sequence - entries[number].sequence))
        entries[number] = dot
      } else {
        advances.append(.init(number: entries.count, added: dot.replica, count: dot.sequence))
        append(dot)
      }
    }
    return advances
  }

  /// Follows what the peer's table did.
  mutating func follow(_ advances: [SyncLive.Advance]) throws {
    for advance in advances {
      if let added = advance.added {
        guard advance.number == entries.count, numbers[added] == nil, entries.count < WireLimits.replicas else {
          throw SyncError(.protocolViolation, "a live change adds a replica that is known")
        }
        append(Dot(replica: added, sequence: advance.count))
      } else {
        guard advance.number < entries.count else {
          throw SyncError(.protocolViolation, "a live change names an unknown replica")
        }
        let old = entries[advance.number]
        let (sequence, overflow) = old.sequence.addingReportingOverflow(advance.count)
        guard !overflow, sequence <= UInt64(Int64.max) else {
          throw SyncError(.protocolViolation, "a sequence is out of range")
        }
        entries[advance.number] = Dot(replica: old.replica, sequence: sequence)
      }
    }
  }

  private mutating func append(_ dot: Dot) {
    numbers[dot.replica] = entries.count
    entries.append(dot)
  }
}

/// Changes that go over as they are committed.
extension SyncSession {
  /// Asks where the store stands, or, if it can go out at once, for what is new, which tells that as well.
  mutating func look(_ actions: inout [Action]) {
    guard hasNews, !isLooking, !isCollecting, !isFinished else { return }
    guard stage.phase == .live, applying == nil, outgoing == nil, liveSent.count < LiveTable.windowCount else {
      (hasNews, isLooking) = (false, true)
      return actions.append(.look)
    }
    collect(since: delivered, &actions)
  }

  mutating func collect(since vector: StateVector, _ actions: inout [Action]) {
    (hasNews, isCollecting) = (false, true)
    actions.append(.collect(since: vector))
  }

  mutating func collected(_ header: DeltaHeader, _ blocks: [DeltaBlock], _ actions: inout [Action]) throws {
    isCollecting = false
    own?.vector.merge(header.target)
    if let fingerprint = header.fingerprint { own?.fingerprint = fingerprint }
    let known = delivered
    guard !known.covers(header.target) else { return }
    try checkVersion(of: header)
    var table = sendTable
    let advances = table.advance(to: header.target, beyond: known)
    let replicas = table.entries.map(\.replica)
    let bytes = blocks.first?.encoded(replicas: replicas) ?? []
    // The peer's limits for cells are its own vector and the table; a change of anything else is transferred.
    guard blocks.count <= 1, bytes.count <= SyncLimits.liveBytes,
      advances.count(where: { !known.covers(table.entries[$0.number]) }) == header.newReplicaCount(beyond: known)
    else { return prepare(since: known, &actions) }
    sendTable = table
    delivered.merge(header.target)
    liveSent.append(header.target)
    progress.bytesSent += UInt64(bytes.count)
    let number = liveConfirmed + UInt64(liveSent.count)
    actions.append(.send(.live(SyncLive(number: number, advances: advances, block: bytes))))
  }

  mutating func receive(_ live: SyncLive, _ actions: inout [Action]) throws {
    guard let own, stage.isExchanging, isLive else { throw violation("a live change in a session that is not live") }
    // Applied twice, a change would let the vector cover what never came.
    guard live.number == liveReceived + 1 else { throw violation("a live change is missing or came twice") }
    try receiveTable.follow(live.advances)
    progress.bytesReceived += UInt64(live.block.count)
    let limits = receiveTable.entries.map { entry in
      Dot(replica: entry.replica, sequence: max(entry.sequence, own.vector[entry.replica]))
    }
    let block = live.block.isEmpty ? nil : try DeltaBlock(live: live.block, limits: limits, version: wireVersion)
    applying = .live
    // What the sender relied on, this side has confirmed; the base is what is here. The target is what the sender had,
    // and no more: a write of this side that it lacked must still go out, was not seen by what wins over it, and
    // outlives a purge. What is on its way there is not counted, since it may never arrive: the sender confirms each
    // change before it sends one that had seen it.
    var target = progress.acknowledged
    for entry in receiveTable.entries { target.include(entry) }
    peerVector.merge(target)
    actions.append(.applyLive(DeltaHeader(base: own.vector, target: target), block))
  }

  mutating func peerAppliedLive(_ count: UInt64) throws {
    guard count > liveConfirmed, count - liveConfirmed <= UInt64(liveSent.count) else {
      throw violation("more live changes were applied than were sent")
    }
    let fresh = Int(count - liveConfirmed)
    for target in liveSent.prefix(fresh) { progress.acknowledged.merge(target) }
    liveSent.removeFirst(fresh)
    liveConfirmed = count
  }
}

extension DeltaHeader {
  /// Returns the number of replicas that the target advances beyond a vector.
  fileprivate func newReplicaCount(beyond vector: StateVector) -> Int {
    target.entries.count { $0.sequence > vector[$0.replica] }
  }
}
