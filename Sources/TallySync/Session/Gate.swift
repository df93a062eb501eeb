import Synchronization

/// Lets one waiting task through each time it is opened; an opening that no task waits for is kept.
final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var isGone = false
    var waiting: CheckedContinuation<Void, Never>?
  }
  private let state = Mutex(State())

  /// Lets everybody through from now on.
  func remove() {
    state.withLock { $0.isGone = true }
    open()
  }

  func open() {
    let waiting = state.withLock { state in
      defer { state.waiting = nil }
      if state.waiting == nil { state.isOpen = true }
      return state.waiting
    }
    waiting?.resume()
  }

  /// At most one task waits at a time.
  func wait() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if state.isOpen || state.isGone {
          state.isOpen = false
          return true
        }
        state.waiting = continuation
        return false
      }
      if isOpen { continuation.resume() }
    }
  }
}
