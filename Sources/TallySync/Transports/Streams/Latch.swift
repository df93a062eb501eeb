import Synchronization

/// Opens once and lets everybody through from then on.
package final class Latch: Sendable {
  private struct State {
    var isOpen = false
    var next = 0
    var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
    /// The waiters whose time was over before they waited.
    var late: Set<Int> = []
  }
  private let state = Mutex(State())

  package init() {}

  package var isOpen: Bool { state.withLock { $0.isOpen } }

  package func open() {
    let waiting = state.withLock { state in
      defer { state.waiting = [:] }
      state.isOpen = true
      return Array(state.waiting.values)
    }
    for continuation in waiting { continuation.resume(returning: true) }
  }

  /// Waits until it opens, but no longer than that, whether the task is cancelled or not.
  /// - Returns: whether it is open.
  @discardableResult
  package func wait(atMost limit: Duration, _ time: any SyncTime = RealTime()) async -> Bool {
    let id = state.withLock { state in
      defer { state.next += 1 }
      return state.next
    }
    let timer = time.after(limit) { self.giveUp(id) }
    defer { timer.cancel() }
    return await withCheckedContinuation { continuation in
      let isOpen: Bool? = state.withLock { state in
        if state.isOpen { return true }
        if state.late.remove(id) != nil { return false }
        state.waiting[id] = continuation
        return nil
      }
      if let isOpen { continuation.resume(returning: isOpen) }
    }
  }

  private func giveUp(_ id: Int) {
    let waiting = state.withLock { state in
      let waiting = state.waiting.removeValue(forKey: id)
      if waiting == nil, !state.isOpen { state.late.insert(id) }
      return waiting
    }
    waiting?.resume(returning: false)
  }
}
