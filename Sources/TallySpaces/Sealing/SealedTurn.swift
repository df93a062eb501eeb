#if Spaces
  import Synchronization

  /// Lets one task at a time through, in the order in which they came.
  final class SealedTurn: Sendable {
    private struct State {
      var isTaken = false
      var nextID = 0
      var waiting: [(id: Int, continuation: CheckedContinuation<Void, any Error>)] = []
      /// The tasks that were cancelled before they could wait.
      var cancelled: Set<Int> = []
    }
    private let state = Mutex(State())

    /// Whether a task runs its part now.
    var isTaken: Bool { state.withLock { $0.isTaken } }

    /// Runs a part that no other task may run meanwhile. It must not call this again.
    /// - Throws: `CancellationError` if the task is cancelled while it waits; errors of the part.
    func run<T>(_ part: () async throws -> T) async throws -> T {
      try await wait()
      defer { end() }
      return try await part()
    }

    private func wait() async throws {
      let id = state.withLock { state in
        state.nextID += 1
        return state.nextID
      }
      defer { state.withLock { _ = $0.cancelled.remove(id) } }
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
          let result = state.withLock { state -> Result<Void, any Error>? in
            guard !state.cancelled.contains(id) else { return .failure(CancellationError()) }
            guard state.isTaken else {
              state.isTaken = true
              return .success(())
            }
            state.waiting.append((id, continuation))
            return nil
          }
          if let result { continuation.resume(with: result) }
        }
      } onCancel: {
        let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
          guard let index = state.waiting.firstIndex(where: { $0.id == id }) else {
            state.cancelled.insert(id)
            return nil
          }
          return state.waiting.remove(at: index).continuation
        }
        waiter?.resume(throwing: CancellationError())
      }
    }

    private func end() {
      let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
        guard !state.waiting.isEmpty else {
          state.isTaken = false
          return nil
        }
        return state.waiting.removeFirst().continuation
      }
      next?.resume()
    }
  }
#endif
