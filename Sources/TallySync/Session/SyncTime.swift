/// Time as a session sees it: an argument, so that a test can let it pass as it likes.
package protocol SyncTime: Sendable {
  /// The time since some moment that stays the same.
  var now: Duration { get }
  /// Does something after a while, unless it is cancelled before. Never within the call.
  func after(_ pause: Duration, _ body: @escaping @Sendable () -> Void) -> SyncTimer
}

/// Something that will be done later.
package struct SyncTimer: Sendable {
  /// Sees to it that it is not done, if that is not too late.
  package let cancel: @Sendable () -> Void

  package init(cancel: @escaping @Sendable () -> Void) { self.cancel = cancel }
}

/// The time on the wall, which goes on while the device sleeps.
package struct RealTime: SyncTime {
  private static let start = ContinuousClock.now

  package init() {}

  package var now: Duration { ContinuousClock.now - Self.start }

  package func after(_ pause: Duration, _ body: @escaping @Sendable () -> Void) -> SyncTimer {
    let task = Task.detached {
      do {
        try await Task.sleep(for: pause)
      } catch {
        // Cancelled: no longer wanted.
        return
      }
      body()
    }
    return SyncTimer { task.cancel() }
  }
}
