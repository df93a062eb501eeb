import Tally
import TallySync
import TallyWire

/// The outcome of a sync with a peer, in lines.
enum SyncLines {
  static func of(_ outcome: SyncOutcome, _ store: String) -> [String] {
    var lines = ["\(store) took \(count(outcome.changes, "change")), \(count(outcome.conflicts, "conflict"))"]
    if outcome.repaired { lines.append("contents differed although the vectors were equal; both were joined") }
    if let assets = outcome.assets { lines += AssetLines.of(assets) }
    return (lines + healing(outcome.isHealed, outcome.inDoubt, store)).map(printable)
  }

  /// Returns the outcome for a store that was damaged.
  static func healing(_ isHealed: Bool, _ inDoubt: [String], _ store: String) -> [String] {
    guard isHealed else { return [] }
    return ["\(store) was damaged or in doubt; what the other holds was taken"]
      + inDoubt.map { "\(store), in doubt: \($0.replacing("\n", with: " with "))" }
  }

  /// The last line of a sync that has come to its end, or was ended.
  static func summary(_ outcome: SyncOutcome, isEnded: Bool) -> String {
    let newer = outcome.newerChanges ?? 0
    return
      "\(isEnded ? "ended" : newer > 0 ? "synced" : "converged"), \(outcome.bytesSent) bytes of changes sent, "
      + "\(outcome.bytesReceived) received, \(outcome.messageBytes) bytes in all"
      + (newer > 0 ? "; \(self.newer(newer))" : "")
  }

  /// Says that changes made during a sync are left for the next one.
  static func newer(_ transactions: UInt64) -> String {
    "somebody wrote meanwhile, and newer changes wait: \(count(Int(clamping: transactions), "transaction"))"
  }
}

/// Damaged bytes of a peer are the peer's fault, those of a file the file's.
func blamingPeer<T>(_ body: () async throws -> T) async throws -> T {
  do {
    return try await body()
  } catch let error as WireError {
    let code: SyncError.Code = error.code == .unsupportedVersion ? .upgradeRequired : .protocolViolation
    throw SyncError(code, "the peer: \(error.message)", cause: error)
  }
}
