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
    guard isWaiting(name) else { return }
    do {
      let pending: UInt64
      switch peer {
      case .mailbox(let mailbox, _):
        pending = try await store.pending(through: mailbox, put: acknowledged[name] ?? StateVector())
      case .transport:
        guard let acknowledged = acknowledged[name] else { return }
        pending = try store.vector.distance(beyond: acknowledged)
      }
      guard isWaiting(name), rounds[name] == round else { return }
      update(name) { $0.pending = pending }
    } catch {
      settings.logger.warning("what is pending is not known", metadata: ["peer": "\(name)", "error": "\(error)"])
    }
  }

  private func isWaiting(_ name: String) -> Bool {
    guard let phase = status.peers.first(where: { $0.id == name })?.phase else { return false }
    return [.idle, .retrying, .blocked, .connecting].contains(phase)
  }
}
