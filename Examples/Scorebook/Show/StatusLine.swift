#if Inspector && Relay
  import Foundation
  import Tally
  import TallySync

  /// How sync stands, as a device tells it to the stage.
  struct StatusLine: Codable {
    struct Peer: Codable {
      var id: String
      var phase: String
      var bytesSent: UInt64, bytesReceived: UInt64
      var changesReceived: Int
      var pending: UInt64?, missing: UInt64?
      var waitingFiles: Int
      var lastSuccess: Date?
      var lastError: String?, errorCode: String?
      var failures: Int
      var nextRetry: Date?
    }

    var isPaused: Bool
    var peers: [Peer]

    init(_ status: SyncStatus) {
      isPaused = status.isPaused
      peers = status.peers.map { peer in
        Peer(
          id: peer.id, phase: peer.phase.rawValue, bytesSent: peer.bytesSent, bytesReceived: peer.bytesReceived,
          changesReceived: peer.changesReceived, pending: peer.pending, missing: peer.missing,
          waitingFiles: peer.waitingFiles, lastSuccess: peer.lastSuccess, lastError: peer.lastError,
          errorCode: peer.errorCode, failures: peer.failures, nextRetry: peer.nextRetry)
      }
    }

    var status: SyncStatus {
      var status = SyncStatus()
      status.isPaused = isPaused
      status.peers = peers.map { peer in
        var result = PeerStatus(id: peer.id)
        result.phase = PeerStatus.Phase(rawValue: peer.phase) ?? .idle
        (result.bytesSent, result.bytesReceived) = (peer.bytesSent, peer.bytesReceived)
        result.changesReceived = peer.changesReceived
        (result.pending, result.missing, result.waitingFiles) = (peer.pending, peer.missing, peer.waitingFiles)
        (result.lastSuccess, result.lastError) = (peer.lastSuccess, peer.lastError)
        (result.errorCode, result.failures, result.nextRetry) = (peer.errorCode, peer.failures, peer.nextRetry)
        return result
      }
      return status
    }
  }
#endif
