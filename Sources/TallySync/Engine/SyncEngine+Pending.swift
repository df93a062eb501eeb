import TallyCRDT
import TallyStore

/// What waits for peers that are away.
extension SyncEngine {
  /// Counts what each peer lacks that is not being synced with, and again after each change of the store.
  func countPending() {
    guard counting == nil else { return }
    let changes = store.changes()
    counting = Task { [weak self] in
      for await _ in changes {
        guard let self else { return }
        for peer in await self.peers { await self.count(peer) }
      }
    }
  }

  /// Says in the status how many transactions a peer is not known to have, unless a round with it says so.
  func count(_ peer: SyncPeer) async {
    let (name, round) = (peer.name, rounds[peer.name])
    guard isWaiting(name), let pending = await pending(peer), isWaiting(name), rounds[name] == round else { return }
    update(name) { $0.pending = pending }
  }

  /// Returns the number of transactions that a peer is not known to have; nil if that cannot be told.
  func pending(_ peer: SyncPeer) async -> UInt64? {
    let known = acknowledged[peer.name]
    do {
      switch peer {
      case .mailbox(let mailbox, _): return try await store.pending(through: mailbox, put: known ?? StateVector())
      case .transport: return try known.map { try store.vector.distance(beyond: $0) }
      }
    } catch {
      settings.logger.warning(
        "what is pending is not known", metadata: ["peer": "\(peer.name)", "error": "\(error)"])
      return nil
    }
  }

  private func isWaiting(_ name: String) -> Bool {
    guard let phase = status.peers.first(where: { $0.id == name })?.phase else { return false }
    return [.idle, .retrying, .blocked, .connecting].contains(phase)
  }
}
