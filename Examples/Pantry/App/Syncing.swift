import Foundation
import Tally
import TallySync

extension SyncEngine {
  /// An engine for each given peer: a folder that devices share, or a command that reaches another process.
  static func pantry(_ store: Store, peers: [String] = []) async -> SyncEngine {
    var settings = Settings()
    settings.device = SyncDevice(name: ProcessInfo.processInfo.hostName, app: "Pantry 1")
    let engine = SyncEngine(store, settings)
    for peer in peers {
      if peer.hasPrefix("folder:") {
        await engine.add(FolderMailbox(URL(fileURLWithPath: String(peer.dropFirst(7)))), named: peer)
      } else {
        await engine.add(ProcessTransport(command: peer, name: "other process"))
      }
    }
    return engine
  }
}

extension SyncStatus {
  /// For one line of a screen.
  var line: String {
    if isPaused { return "paused" }
    return isUpToDate ? "up to date" : peers.map(\.line).joined(separator: "; ")
  }
}

extension PeerStatus {
  var line: String {
    switch phase {
    case .retrying, .blocked: "\(id): \(lastError ?? phase.rawValue)"
    case .syncing: "\(id): \(fraction.map { "\(Int($0 * 100)) %" } ?? "…")"
    default: "\(id): \(phase), \(pending ?? 0) to send"
    }
  }
}

extension KnownDevice {
  var line: String {
    "\(name ?? "a device") \(pending == 0 ? "has everything" : "is behind by \(pending)"), seen \(lastSeen.formatted(.iso8601))"
  }
}
