import TallyCRDT
import TallyStore
import TallyWire

/// Getting to know each other, and what is wrong when two replicas cannot both be right.
extension SyncSession {
  mutating func greeted(_ hello: SyncHello, _ actions: inout [Action]) throws {
    guard case .greeting(let greeting) = stage else { throw violation("a second hello") }
    progress.peerVersions = hello.versions
    guard let common = hello.common(with: versions) else {
      throw SyncError(
        .upgradeRequired,
        "the peer speaks versions \(hello.versions.lowerBound) to \(hello.versions.upperBound) of the protocol, "
          + "this side speaks \(versions.lowerBound) to \(versions.upperBound)")
    }
    guard hello.zone == zone else { throw SyncError(.wrongZone, "the peer syncs another zone") }
    guard hello.messageLimit >= 2 * SyncLimits.chunkBytes else {
      throw SyncError(.limitExceeded, "the peer takes messages of \(hello.messageLimit) bytes only")
    }
    progress.peer = hello.replica
    if mode == .compare {
      guard hello != self.hello(greeting) else {
        throw SyncError(.sameStore, "the peer is an echo: it sends back what it is sent")
      }
      stage = .acquainted(greeting, hello)
      return
    }
    if common >= 3, hello.replica == greeting.replica, hello.replica != nil || hello.digest == SyncDigest(greeting) {
      stage = .suspecting(greeting, hello)
      return actions.append(.leaveMark(identity))
    }
    try meet(hello, greeting, &actions)
  }

  /// The peer has left a mark in its file: if it is in this one as well, both are the same.
  mutating func identified(_ session: UInt64, _ actions: inout [Action]) throws {
    guard case .suspecting(let greeting, let hello) = stage else { throw violation("an identity out of its order") }
    guard session != identity else { throw SyncError(.sameStore, "the peer is an echo: it sends back what it is sent") }
    stage = .recognizing(greeting, hello)
    actions.append(.lookForMark(session))
  }

  mutating func recognized(_ isSame: Bool, _ actions: inout [Action]) throws {
    guard case .recognizing(let greeting, let hello) = stage else { return }
    guard !isSame else { throw SyncError(.sameStore, "the peer is this store itself, reached another way") }
    try meet(hello, greeting, &actions)
  }

  private mutating func meet(_ hello: SyncHello, _ greeting: StoreSummary, _ actions: inout [Action]) throws {
    stage = .acquainted(greeting, hello)
    if let replica = hello.replica, replica == greeting.replica {
      renew("another store writes with the same replica id: one is a copy of the other", &actions)
    }
    let mine = SyncDigest(greeting)
    guard hello.digest.vectorHash == mine.vectorHash else {
      introduce(&actions)
      if version >= 2, !ownParts.isEmpty { actions.append(.send(.held(ownParts))) }
      let vector = SyncMessage.vector(greeting.vector)
      guard vector.encoded().count <= hello.messageLimit else {
        throw SyncError(.limitExceeded, "this side's vector has too many entries for the peer")
      }
      actions.append(.send(vector))
      return
    }
    if isLive { introduce(&actions) }
    begin(with: greeting.vector, greeting, hello)
    if hello.digest == mine {
      (sentDone, peerDone) = (mine, hello.digest)
    } else {
      try beginRepair(&actions, tell: false)
    }
  }

  /// Two that are equal and do not stay connected need not know each other's names.
  private func introduce(_ actions: inout [Action]) {
    if version >= 4, let device { actions.append(.send(.about(device))) }
  }

  mutating func introduced(_ device: SyncDevice) throws {
    guard stage.hello != nil, version >= 4, progress.device == nil else {
      throw violation("an introduction out of its order")
    }
    progress.device = device
  }

  mutating func learned(_ parts: [SyncPart]) throws {
    guard case .acquainted = stage, version >= 2, peerParts.isEmpty else {
      throw violation("parts of transfers out of their order")
    }
    peerParts = parts
  }

  mutating func learned(_ vector: StateVector, _ actions: inout [Action]) throws {
    guard case .acquainted(let greeting, let hello) = stage, let own else {
      throw violation("a vector out of its order")
    }
    if mode == .compare {
      let digest = SyncDigest(greeting)
      comparison = SyncComparison(
        peer: hello.replica, lacking: vector.distance(beyond: greeting.vector),
        ahead: greeting.vector.distance(beyond: vector), isSameVector: vector == greeting.vector,
        isSameContent: hello.digest.fingerprint == digest.fingerprint)
      actions.append(.send(.failure(code: SyncError.compared, message: "only compared")))
      return finish(&actions)
    }
    begin(with: vector, greeting, hello)
    if let replica = own.replica, vector[replica] > own.vector[replica] {
      renew("a peer knows more of this store than the store itself: it is an older copy", &actions)
    }
  }

  private mutating func begin(with vector: StateVector, _ greeting: StoreSummary, _ hello: SyncHello) {
    stage = .syncing(hello)
    delivered = vector
    peerVector = vector
    progress.acknowledged = vector
    sendTable = LiveTable(greeting.vector)
    receiveTable = LiveTable(vector)
  }

  /// Exchanges everything, because equal vectors came with different contents. That alone is no reason for a new
  /// replica id: a sum may be wrong, a peer may have lost something, or both may have met a different copy of a third.
  /// Where the peer has a cell under this replica's own id that this replica has not, another copy has written it; the
  /// store notices that when it joins what comes, and gives up the id in the same transaction.
  mutating func beginRepair(_ actions: inout [Action], tell: Bool) throws {
    if tell { actions.append(.send(.repair)) }
    guard !isRepairing else { return }
    repair = .owed
    // A transfer that the peer has refused has brought it nothing, and a damaged side sends nothing in its place.
    delivered = progress.acknowledged
    outgoing?.mayBeRefused = true
    progress.repaired = true
    (sentDone, peerDone) = (nil, nil)
  }

  private mutating func renew(_ reason: String, _ actions: inout [Action]) {
    guard !isRenewing else { return }
    isRenewing = true
    actions.append(.renewReplica(reason: reason))
  }
}

extension StateVector {
  /// Returns the number of transactions that this vector covers and `other` does not.
  func distance(beyond other: StateVector) -> UInt64 {
    entries.reduce(0) { sum, entry in
      let known = other[entry.replica]
      return entry.sequence > known ? sum &+ (entry.sequence - known) : sum
    }
  }
}
