import Synchronization
import TallySync

/// A time that passes only when told to.
package final class StepTime: SyncTime {
  private struct Entry {
    let id: Int
    let due: Duration
    let body: @Sendable () -> Void
  }

  private struct State {
    var now: Duration = .zero
    var next = 0
    /// First come, first served.
    var entries: [Entry] = []
  }

  private let state = Mutex(State())

  package init() {}

  package var now: Duration { state.withLock { $0.now } }

  package func after(_ pause: Duration, _ body: @escaping @Sendable () -> Void) -> SyncTimer {
    let id = state.withLock { state in
      defer { state.next += 1 }
      state.entries.append(Entry(id: state.next, due: state.now + pause, body: body))
      return state.next
    }
    return SyncTimer { [weak self] in self?.state.withLock { $0.entries.removeAll { $0.id == id } } }
  }

  /// When the next thing is to be done; nil if nothing is.
  package var next: Duration? { state.withLock { $0.entries.map(\.due).min() } }

  /// Lets time pass until then; what is due is done in its order, each at its own time.
  package func pass(until end: Duration) {
    while let body = due(before: end) { body() }
    state.withLock { $0.now = max($0.now, end) }
  }

  /// Lets that much time pass.
  package func pass(_ duration: Duration) { pass(until: now + duration) }

  private func due(before end: Duration) -> (@Sendable () -> Void)? {
    state.withLock { state in
      guard let first = state.entries.indices.min(by: { state.entries[$0].due < state.entries[$1].due }),
        state.entries[first].due <= end
      else { return nil }
      let entry = state.entries.remove(at: first)
      state.now = max(state.now, entry.due)
      return entry.body
    }
  }
}
