import TallyCRDT
import TallyStore
import TallyWire

/// The relation of two replicas to each other.
public struct SyncComparison: Sendable, Equatable {
  /// The peer's replica; nil if it has not written yet.
  public var peer: ReplicaID?
  /// The transactions that only the peer has, and those that only this store has.
  public var lacking: UInt64 = 0, ahead: UInt64 = 0
  /// Whether both have seen the same.
  public var isSameVector = false
  /// Whether both hold the same.
  public var isSameContent = false
  /// Whether there is nothing to sync.
  public var isEqual: Bool { isSameVector && isSameContent }
}

extension Store {
  /// Compares this store with the peer at the other end of a connection, and closes it. Nothing is exchanged but where
  /// both stand, and neither changes.
  /// - Parameters:
  ///   - connection: a new connection, over which nothing was said; it is of no use afterwards.
  ///   - timeout: the time to wait for the peer in all.
  /// - Returns: the number of transactions that each side lacks, and whether both hold the same.
  /// - Throws: `SyncError`; `WireError` for damaged bytes; `CancellationError`.
  public func compare(over connection: any SyncConnection, timeout: Duration = .seconds(60)) async throws
    -> SyncComparison
  {
    let comparing = Comparing(connection: connection, summary: try summary())
    let result: Result<SyncComparison, any Error>
    do {
      result = .success(
        try await withThrowingTaskGroup(of: SyncComparison.self) { group in
          group.addTask { try await comparing.run() }
          group.addTask {
            try await Task.sleep(for: timeout)
            throw SyncError(.timedOut, "the peer does not say where it stands")
          }
          defer { group.cancelAll() }
          guard let first = try await group.next() else { throw CancellationError() }
          return first
        })
    } catch {
      result = .failure(error)
    }
    await connection.close()
    return try result.get()
  }
}

extension SyncError {
  /// Says that a peer only wanted to compare. It is no failure: both end in order.
  static let compared = "compared"
}

private struct Comparing {
  let connection: any SyncConnection
  let summary: StoreSummary

  func run() async throws -> SyncComparison {
    let own = SyncDigest(summary)
    // No replica, since whoever compares is no second writer of one id; and a hash that is certainly another, so that
    // the peer answers with its vector and does not begin to repair a difference.
    let digest = SyncDigest(vectorHash: ~own.vectorHash, fingerprint: Fingerprint())
    let hello = SyncHello(
      versions: SyncHello.versions, zone: .default, replica: nil, digest: digest, isLive: false,
      messageLimit: SyncLimits.messageBytes)
    try await connection.send(SyncMessage.hello(hello).encoded())
    guard case .hello(let peer) = try await next() else { throw SyncError(.protocolViolation, "no hello came") }
    guard peer != hello else {
      throw SyncError(.sameStore, "the peer is an echo: it sends back what it is sent")
    }
    guard peer.common != nil else {
      throw SyncError(.upgradeRequired, "the peer speaks another version of the protocol")
    }
    guard peer.zone == .default else { throw SyncError(.wrongZone, "the peer syncs another zone") }
    let vector = try await vector()
    try await connection.send(SyncMessage.failure(code: SyncError.compared, message: "only compared").encoded())
    return SyncComparison(
      peer: peer.replica, lacking: vector.distance(beyond: summary.vector),
      ahead: summary.vector.distance(beyond: vector),
      isSameVector: vector == summary.vector, isSameContent: peer.digest.fingerprint == own.fingerprint)
  }

  private func vector() async throws -> StateVector {
    switch try await next() {
    case .vector(let vector): return vector
    case .ping, .held: return try await vector()
    default: throw SyncError(.protocolViolation, "the peer does not say where it stands")
    }
  }

  private func next() async throws -> SyncMessage {
    guard let bytes = try await connection.receive() else {
      throw SyncError(.disconnected, "the connection ended before the peer said where it stands")
    }
    let message = try SyncMessage(bytes)
    if case .failure(let code, let text) = message {
      throw SyncError(SyncError.Code(rawValue: code) ?? .peerFailed, "the peer says: \(text)")
    }
    return message
  }
}
