import TallySync

/// How sync stands with one peer or mailbox.
package struct PeerReport: Sendable, Codable, Equatable {
  /// The name under which the engine has it; a number in a report without names.
  package var id: String
  /// What the engine does with regard to it.
  package var phase: String
  /// How much of what is under way has arrived, 0 to 1.
  package var fraction: Double?
  /// What is under way: receiving, for instance. Then how much of that is done, 0 to 1, how many records are joined,
  /// and the seconds until its end.
  package var stage: String?
  package var stageFraction: Double?
  package var records: Int?
  package var secondsLeft: Int?
  /// Bytes of changes since the engine began.
  package var bytesSent: UInt64, bytesReceived: UInt64
  /// Transactions that it lacks, and that this store lacks, as far as is known.
  package var pending: UInt64?, missing: UInt64?
  /// Files of a mailbox that wait or were refused.
  package var waitingFiles: Int
  /// The peer's replica.
  package var replica: String?
  /// The name that it has introduced itself with.
  package var device: String?
  /// When both were last known to be equal.
  package var lastSuccess: String?
  /// Why the last attempt failed.
  package var lastError: String?
  /// The code of that.
  package var errorCode: String?
  /// Failed attempts in a row.
  package var failures: Int
  /// When it is tried again; nil unless it is about to be.
  package var nextRetry: String?
  /// The lowest and the highest version of the protocol that it speaks; nil while unknown.
  package var protocolVersions: [Int]?
  /// The app that it has introduced itself with, and its version.
  package var app: String?
  /// What to do about it, in words; nil if nothing is wrong.
  package var advice: String?

  /// The report of a peer. Without names its own name, its device's and the words of an error are left out.
  package init(_ peer: PeerStatus, hasNames: Bool = true) {
    id = hasNames ? peer.id : ""
    phase = peer.phase.rawValue
    fraction = peer.fraction
    stage = peer.transfer?.stage.rawValue
    (stageFraction, records) = (peer.transfer?.fraction, peer.transfer?.records)
    secondsLeft = peer.transfer?.timeLeft.map { Int($0.components.seconds) }
    (bytesSent, bytesReceived) = (peer.bytesSent, peer.bytesReceived)
    (pending, missing, waitingFiles) = (peer.pending, peer.missing, peer.waitingFiles)
    replica = peer.replica.map { "\($0)" }
    device = hasNames ? peer.device?.name : nil
    nextRetry = peer.nextRetry.map { StampReport.text($0) }
    protocolVersions = peer.protocolVersions.map { [Int($0.lowerBound), Int($0.upperBound)] }
    app = hasNames ? peer.device.flatMap { $0.app.isEmpty ? nil : $0.app } : nil
    lastSuccess = peer.lastSuccess.map { StampReport.text($0) }
    lastError = hasNames ? peer.lastError : nil
    (errorCode, failures) = (peer.errorCode, peer.failures)
    advice = Self.advice(peer)
  }

  private static func advice(_ peer: PeerStatus) -> String? {
    if peer.phase == .blocked {
      return switch peer.errorCode {
      case "unauthorized", "unauthenticated": "It is given up: the secret or token is refused. Replace it, then resume."
      case "upgradeRequired": "It is given up: one side speaks a version that the other does not. Update the app."
      case "closed": "Its program has ended. It syncs again once that is started again."
      default: "It is given up: trying again would not help. Mend the cause, then resume."
      }
    }
    if peer.phase == .retrying {
      return "It is tried again by itself, after a pause that grows. Sync now tries at once."
    }
    if peer.waitingFiles > 0 { return "Files wait for others that have not arrived, or cannot be read here." }
    guard let code = peer.pollingErrorCode else { return nil }
    return "It does not tell what is new at present (\(code)), and is looked into at intervals."
  }
}
