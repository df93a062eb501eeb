import Tally
import TallySync

/// `tally sync STORE --via PEER`.
struct SyncWithPeer {
  var store: String
  /// The store's name in the output.
  var name: String
  var peer: String
  var isWatching: Bool
  var security: SecurityOptions
  var timeout: Double
  var progress: ProgressOptions

  /// Pauses after a lost connection: the first, and the longest.
  private static let pauses: (Duration, Duration) = (.seconds(1), .seconds(60))

  /// - Returns: the files of assets that have travelled; nil if none can, or if it stayed connected.
  func run() throws -> AssetTransfers? {
    let words = try PeerWords()
    defer { words?.finish() }
    let transport = try PeerAddress(peer).transport(security, words)
    return try OpenStore.writing(store, timeout) { store in
      let progress = SyncProgress(self.progress)
      defer { progress.end() }
      let outcome = try Waiting.run {
        isWatching ? try await watch(store, transport, progress) : try await sync(store, transport, progress, nil)
      }
      progress.end()
      try Output.run { output in
        for line in SyncLines.of(outcome, name) { try output.line(line) }
        try output.line(SyncLines.summary(outcome, isEnded: isWatching))
      }
      return isWatching ? nil : outcome.assets
    }
  }

  private func sync(
    _ store: Store, _ transport: any Transport, _ progress: SyncProgress, _ onLive: (@Sendable () -> Void)?
  ) async throws -> SyncOutcome {
    var settings = SyncSettings()
    settings.isLive = isWatching
    settings.onProgress = { step in
      if step.phase == .live { onLive?() }
      progress.show(step)
    }
    return try await blamingPeer { [settings] in
      let connection = try await transport.open()
      // Asked to end, a session that only waits for changes ends in order, and says what it did.
      let syncing = Task { try await store.sync(over: connection, settings) }
      return try await withTaskCancellationHandler {
        try await syncing.value
      } onCancel: {
        if isWatching { Task { await connection.close() } } else { syncing.cancel() }
      }
    }
  }

  /// Stays in sync until the tool is asked to end. A peer that was reached once is tried again; one that never was is
  /// an error.
  private func watch(_ store: Store, _ transport: any Transport, _ progress: SyncProgress) async throws -> SyncOutcome {
    var total = SyncOutcome()
    let reached = Reached()
    var pause = Self.pauses.0
    while !Task.isCancelled {
      do {
        let outcome = try await sync(store, transport, progress) { reached.note() }
        total.add(outcome)
        pause = Self.pauses.0
      } catch is CancellationError {
        break
      } catch let error as SyncError where error.isPassing && reached.isTrue {
        if Task.isCancelled { break }
        complain("\(error.message); trying again")
      }
      try? await Task.sleep(for: pause)
      pause = min(pause * 2, Self.pauses.1)
    }
    return total
  }
}

extension SyncError {
  /// Whether trying again may help.
  fileprivate var isPassing: Bool { [.unreachable, .disconnected, .timedOut].contains(code) }
}

extension SyncOutcome {
  /// Adds what a further sync did.
  fileprivate mutating func add(_ next: SyncOutcome) {
    changes += next.changes
    conflicts += next.conflicts
    bytesSent += next.bytesSent
    bytesReceived += next.bytesReceived
    messageBytes += next.messageBytes
    repaired = repaired || next.repaired
    peer = next.peer ?? peer
    if let next = next.assets { assets = assets.map { $0.followed(by: next) } ?? next }
  }
}

extension AssetTransfers {
  /// Returns the files that this session and the next one have transferred, with the rest that the next one has left.
  fileprivate func followed(by next: AssetTransfers) -> AssetTransfers {
    var both = next
    both.taken = taken + next.taken
    both.written = written + next.written
    return both
  }
}
