extension SyncEngine {
  /// Syncs with every peer that is waiting, at once: with one that failed or was given up as well as with one whose
  /// next round is due later. For a button, or after the network has come back.
  ///
  /// ```swift
  /// await engine.syncNow()
  /// ```
  ///
  /// Returns at once; the status tells what comes of it. A sync that is under way is followed by another, a live one
  /// goes on. Does nothing while the engine is paused: ``syncOnce(within:)`` syncs then, too, and waits for the end.
  public func syncNow() {
    guard !status.isPaused else { return }
    wakeAll()
  }

  /// Syncs once with every peer, and returns when each has come to an end, well or not: for a background task that has
  /// little time.
  ///
  /// ```swift
  /// let status = await engine.syncOnce(within: .seconds(25))
  /// let isDone = status.isUpToDate
  /// ```
  ///
  /// Begins if the engine is paused, and pauses it again, which closes its connections. What is under way when the time
  /// is over is broken off, unless the engine was running; nothing is lost, the next sync goes on. A peer that stays
  /// connected counts as done once it has everything of this store. It throws nothing: errors are in the status.
  /// Without peers it returns at once.
  /// - Parameter limit: how long to wait for peers that do not answer. Pausing may take a moment more.
  /// - Returns: how sync stood at the end: with each peer it has worked, failed, or not come to its end.
  @discardableResult
  public func syncOnce(within limit: Duration) async -> SyncStatus {
    let wasPaused = status.isPaused
    let before = rounds
    if wasPaused { resume() } else { wakeAll() }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.untilRoundsEnded(after: before) }
      group.addTask { [settings] in
        // Cancelled: the rounds have ended.
        try? await settings.sleep(limit)
      }
      defer { group.cancelAll() }
      await group.next()
    }
    let result = status
    if wasPaused { await pause() }
    return result
  }

  /// Waits until a round with each peer has ended, well or not, since there were so many.
  private func untilRoundsEnded(after before: [String: Int]) async {
    for await status in statusUpdates() {
      let isDone = status.peers.allSatisfy { peer in
        peer.phase == .live && peer.pending == 0 || rounds[peer.id, default: 0] > before[peer.id, default: 0]
      }
      if isDone { return }
    }
  }
}
