extension SyncEngine {
  /// Syncs at once with every peer that is waiting, whether it failed, was given up, or is due later. Use it for a
  /// button, or after the network has come back.
  ///
  /// ```swift
  /// await engine.syncNow()
  /// ```
  ///
  /// It returns at once; the status reports the result. A sync that is under way is followed by another one; a live one
  /// continues. It does nothing while the engine is paused: ``syncOnce(within:)`` syncs even then, and waits for the
  /// end.
  public func syncNow() {
    guard !status.isPaused else { return }
    wakeAll()
  }

  /// Syncs once with every peer and returns when each sync has ended, successfully or not: for a background task with
  /// little time.
  ///
  /// ```swift
  /// let status = await engine.syncOnce(within: .seconds(25))
  /// let isDone = status.isUpToDate
  /// ```
  ///
  /// A paused engine is resumed for the duration of the call and then paused again, which closes its connections. A
  /// sync that is still under way when the time is over is cancelled, unless the engine was running before; nothing is
  /// lost, and the next sync continues. A peer that stays connected counts as done once it has everything from this
  /// store, and no file of an asset is under way. The call throws nothing: errors are in the status. Without peers it
  /// returns at once.
  /// - Parameter limit: how long to wait for peers that do not answer. Pausing may take a moment more.
  /// - Returns: the status at the end: with each peer the sync has succeeded, failed, or not finished.
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
        peer.phase == .live && peer.pending == 0 && !peer.hasFilesUnderWay
          || rounds[peer.id, default: 0] > before[peer.id, default: 0]
      }
      if isDone { return }
    }
  }
}
