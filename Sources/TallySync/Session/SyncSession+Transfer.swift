import TallyCRDT
import TallyStore
import TallyWire

/// Deltas in chunks: sent at the pace at which the peer puts them aside, applied as a whole.
extension SyncSession {
  mutating func offer(since vector: StateVector, _ actions: inout [Action]) {
    sentDone = nil
    if stage.phase == .live, repair != .owed {
      guard liveSent.count < LiveTable.windowCount else { return }
      collect(since: vector, &actions)
    } else {
      prepare(since: vector, &actions)
    }
  }

  mutating func prepare(since vector: StateVector, _ actions: inout [Action]) {
    transfers += 1
    outgoing = Outgoing(number: transfers)
    progress.isPreparing = true
    // What the peer has is of a delta since its own vector: of no use when everything is owed.
    let parts = repair == .owed ? [] : peerParts
    if repair == .owed { repair = .underWay }
    peerParts = []
    actions.append(.prepare(transfer: transfers, since: vector, peerHas: parts))
  }

  mutating func prepared(
    _ transfer: UInt64, _ header: DeltaHeader, _ byteCount: UInt64, _ offset: UInt64, _ actions: inout [Action]
  ) throws {
    guard var current = outgoing, current.number == transfer else { return }
    try checkVersion(of: header)
    current.header = header
    current.byteCount = byteCount
    progress.isPreparing = false
    // Another process may have written since the store was looked at. What goes out now is where this side stands: with
    // an older last word neither would speak again.
    if let own, !own.vector.covers(header.target) {
      self.own?.vector.merge(header.target)
      if let fingerprint = header.fingerprint { self.own?.fingerprint = fingerprint }
    }
    (current.sent, current.acknowledged) = (offset, offset)
    outgoing = current
    (progress.sendTotal, progress.sendAcknowledged) = (byteCount, offset)
    if version >= 2, offset > 0 || byteCount > UInt64(SyncLimits.chunkBytes) {
      actions.append(.send(.transfer(transfer, offset: offset, byteCount: byteCount)))
    }
    if offset == byteCount { delivered.merge(header.target) }
    readMore(&actions)
  }

  private mutating func readMore(_ actions: inout [Action]) {
    guard var current = outgoing, current.header != nil, !current.isReading, current.sent < current.byteCount,
      current.sent - current.acknowledged < UInt64(SyncLimits.windowBytes)
    else { return }
    current.isReading = true
    outgoing = current
    let count = min(UInt64(SyncLimits.chunkBytes), current.byteCount - current.sent)
    actions.append(.read(transfer: current.number, offset: current.sent, count: Int(count)))
  }

  mutating func chunk(_ transfer: UInt64, _ bytes: [UInt8], _ actions: inout [Action]) {
    guard var current = outgoing, current.number == transfer, current.isReading else { return }
    let offset = current.sent
    current.sent += UInt64(bytes.count)
    current.isReading = false
    outgoing = current
    progress.bytesSent += UInt64(bytes.count)
    let isLast = current.sent == current.byteCount
    actions.append(.send(.chunk(transfer: transfer, offset: offset, isLast: isLast, bytes: bytes)))
    if isLast, let header = current.header { delivered.merge(header.target) }
    readMore(&actions)
  }

  mutating func confirmed(_ transfer: UInt64, _ byteCount: UInt64, _ actions: inout [Action]) throws {
    guard var current = outgoing, current.number == transfer, byteCount <= current.sent else {
      throw violation("more was received than was sent")
    }
    current.acknowledged = max(current.acknowledged, byteCount)
    outgoing = current
    progress.sendAcknowledged = current.acknowledged
    readMore(&actions)
  }

  mutating func peerApplied(_ transfer: UInt64, _ actions: inout [Action]) throws {
    guard let current = outgoing, current.number == transfer, let header = current.header,
      current.sent == current.byteCount
    else { throw violation("a transfer was applied that was not sent") }
    outgoing = nil
    (progress.sendTotal, progress.sendAcknowledged) = (0, 0)
    if !current.mayBeRefused { progress.acknowledged.merge(header.target) }
    // What the peer said last was where it stood before this. It will say it again, also where only its content is
    // another.
    peerDone = nil
    actions.append(.discard(transfer: transfer))
  }

  mutating func announced(
    _ transfer: UInt64, _ offset: UInt64, _ byteCount: UInt64, _ actions: inout [Action]
  ) throws {
    guard version >= 2, incoming == nil else { throw violation("a transfer begins out of its order") }
    guard offset == 0 || ownParts.contains(where: { $0.byteCount == offset }) else {
      throw violation("a transfer goes on from where this side is not")
    }
    try begin(transfer)
    ownParts = []
    (progress.receiveTotal, progress.receiveDone) = (byteCount, offset)
    if offset > 0 { actions.append(.resume(byteCount: offset)) }
    if offset == byteCount {
      apply(transfer, &actions)
    } else {
      incoming = Incoming(number: transfer, offset: offset, byteCount: byteCount)
    }
  }

  private mutating func begin(_ transfer: UInt64) throws {
    guard transfer > lastIncoming else { throw violation("a transfer came twice") }
    lastIncoming = transfer
    sentDone = nil
  }

  mutating func received(
    _ transfer: UInt64, _ offset: UInt64, _ isLast: Bool, _ bytes: [UInt8], _ actions: inout [Action]
  ) throws {
    if incoming == nil {
      try begin(transfer)
      incoming = Incoming(number: transfer, offset: 0)
    }
    guard let expected = incoming, expected.number == transfer, expected.offset == offset else {
      throw violation("a chunk came out of its order")
    }
    guard !bytes.isEmpty else { throw violation("a chunk is empty") }
    let end = offset + UInt64(bytes.count)
    guard end <= SyncLimits.transferBytes else { throw SyncError(.limitExceeded, "a transfer has too many bytes") }
    if let byteCount = expected.byteCount {
      guard isLast ? end == byteCount : end < byteCount else {
        throw violation("a transfer does not have the announced length")
      }
      progress.receiveDone = end
    }
    progress.bytesReceived += UInt64(bytes.count)
    actions.append(.keep(bytes))
    guard isLast else {
      incoming?.offset = end
      return actions.append(.send(.received(transfer: transfer, byteCount: end)))
    }
    apply(transfer, &actions)
  }

  private mutating func apply(_ transfer: UInt64, _ actions: inout [Action]) {
    incoming = nil
    applying = .transfer(transfer)
    progress.isApplying = true
    actions.append(.apply(isRepair: isRepairing))
  }

  /// Asks for everything instead, which the peer checks as it reads.
  mutating func refused(_ summary: StoreSummary, _ actions: inout [Action]) throws {
    own = summary
    guard case .transfer(let transfer) = applying, !isRepairing else {
      throw SyncError(.notConverged, "both stores exchanged everything and still differ")
    }
    try beginRepair(&actions, tell: true)
    actions.append(.send(.applied(transfer: transfer, digest: SyncDigest(summary))))
    applying = nil
    progress.isApplying = false
    (progress.receiveTotal, progress.receiveDone) = (0, 0)
  }

  mutating func applied(_ summary: StoreSummary, _ target: StateVector, _ actions: inout [Action]) {
    own = summary
    switch applying {
    case .transfer(let transfer):
      actions.append(.send(.applied(transfer: transfer, digest: SyncDigest(summary))))
      progress.acknowledged.merge(target)
    case .live:
      liveReceived += 1
      actions.append(.send(.liveApplied(liveReceived)))
      progress.acknowledged.merge(target)
    case nil: break
    }
    if applying != nil { oweListing() }
    applying = nil
    progress.isApplying = false
    (progress.receiveTotal, progress.receiveDone) = (0, 0)
    delivered.merge(target)
  }
}
