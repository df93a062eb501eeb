#if Relay
  import Synchronization

  /// Lets so many go on at once, and the others wait for their turn: one of each token, round and round.
  final class Turns: Sendable {
    private struct State {
      var free: Int
      var next = 0
      var line = FairLine<[UInt8], (id: Int, continuation: CheckedContinuation<Void, any Error>)>()
    }

    private let state: Mutex<State>

    init(_ count: Int) { state = Mutex(State(free: count)) }

    /// The number of those who wait.
    var waiting: Int { state.withLock { $0.line.count } }

    /// Runs the body when it is its turn.
    /// - Throws: `CancellationError` if the task is cancelled before, and what the body throws.
    func run<T>(of token: [UInt8], _ body: () async throws -> T) async throws -> T {
      try await take(token)
      defer { give() }
      return try await body()
    }

    private func take(_ token: [UInt8]) async throws {
      let id = state.withLock { state -> Int? in
        if state.free > 0 {
          state.free -= 1
          return nil
        }
        defer { state.next += 1 }
        return state.next
      }
      guard let id else { return }
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          let result = state.withLock { state -> Result<Void, any Error>? in
            if Task.isCancelled { return .failure(CancellationError()) }
            // Somebody may have ended meanwhile.
            if state.free > 0 {
              state.free -= 1
              return .success(())
            }
            state.line.append((id, continuation), of: token)
            return nil
          }
          if let result { continuation.resume(with: result) }
        }
      } onCancel: {
        let continuation = state.withLock { state in
          state.line.remove(of: token) { $0.id == id }?.continuation
        }
        continuation?.resume(throwing: CancellationError())
      }
    }

    private func give() {
      let next = state.withLock { state in
        let next = state.line.removeFirst()?.continuation
        if next == nil { state.free += 1 }
        return next
      }
      next?.resume()
    }
  }
#endif
