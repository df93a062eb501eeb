import Dispatch
import Synchronization
import Tally
import TallyCRDT
import TallySync

/// A live session of one store. A workload, which is not asynchronous, can wait for what the peer has: for ever never,
/// and not for a session that has ended.
final class LiveSession: Sendable {
  private struct State {
    var progress = SyncSession().progress
    var isOver = false
    var error: (any Error)?
    /// What somebody waits for.
    var goal: (@Sendable (SyncSession.Progress) -> Bool)?
  }

  private static let patience = DispatchTimeInterval.seconds(60)
  private let state = Mutex(State())
  private let signal = DispatchSemaphore(value: 0)

  /// Syncs until the connection is closed.
  func sync(_ store: Store, over connection: any SyncConnection) async throws {
    var settings = SyncSettings()
    settings.isLive = true
    settings.onProgress = { progress in self.change { $0.progress = progress } }
    do {
      try await store.sync(over: connection, settings)
      change { $0.isOver = true }
    } catch {
      change { ($0.isOver, $0.error) = (true, error) }
      throw error
    }
  }

  /// Waits until both sides follow changes.
  func waitUntilLive() throws { try wait(until: { $0.phase == .live }, "the session did not go live") }

  /// Waits until the peer has said that it has committed this change. Nil says that nothing was changed, for which
  /// nobody could wait.
  func wait(for dot: Dot?) throws {
    guard let dot else { throw Mistake("a live change changed nothing") }
    try wait(until: { $0.acknowledged.covers(dot) }, "a live change did not arrive")
  }

  private func wait(until goal: @escaping @Sendable (SyncSession.Progress) -> Bool, _ complaint: String) throws {
    let isReached = state.withLock { state in
      let isReached = state.isOver || goal(state.progress)
      if !isReached { state.goal = goal }
      return isReached
    }
    guard isReached || signal.wait(timeout: .now() + Self.patience) == .success else { throw Mistake(complaint) }
    try state.withLock { state in
      if let error = state.error { throw error }
      guard goal(state.progress) else { throw Mistake("the session ended: \(complaint)") }
    }
  }

  private func change(_ body: (inout sending State) -> Void) {
    let isReached = state.withLock { state in
      body(&state)
      guard let goal = state.goal, state.isOver || goal(state.progress) else { return false }
      state.goal = nil
      return true
    }
    if isReached { signal.signal() }
  }
}
