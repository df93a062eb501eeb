#if Relay
  import Dispatch
  import GRDB
  import Synchronization

  /// Looks tokens up together: those that come while others are looked up share the next transaction. None is answered
  /// from a transaction that began before it was asked for.
  final class BearerLookups: Sendable {
    private typealias Asking = CheckedContinuation<RelayStore.Bearer?, any Error>

    private struct State {
      var waiting: [[UInt8]: [Asking]] = [:]
      var isReading = false
    }

    private let pool: DatabasePool
    private let now: @Sendable () -> Int64
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "relay.tokens")

    init(_ pool: DatabasePool, _ now: @escaping @Sendable () -> Int64) { (self.pool, self.now) = (pool, now) }

    /// A token, by its hash, with its space; nil if nobody has made it.
    func bearer(_ hash: [UInt8]) async throws -> RelayStore.Bearer? {
      try await withCheckedThrowingContinuation { continuation in
        let isFirst = state.withLock { state in
          state.waiting[hash, default: []].append(continuation)
          defer { state.isReading = true }
          return !state.isReading
        }
        if isFirst { queue.async { self.readAll() } }
      }
    }

    private func readAll() {
      while let group = takeGroup() {
        let found = Result {
          try pool.read { [time = now()] db in
            try group.keys.reduce(into: [:]) { $0[$1] = try RelayStore.bearer(db, $1, time) }
          }
        }
        for (hash, asking) in group {
          let result: Result<RelayStore.Bearer?, any Error> = found.map { $0[hash] }
          for continuation in asking { continuation.resume(with: result) }
        }
      }
    }

    private func takeGroup() -> [[UInt8]: [Asking]]? {
      state.withLock { state in
        defer { state.waiting = [:] }
        state.isReading = !state.waiting.isEmpty
        return state.isReading ? state.waiting : nil
      }
    }
  }
#endif
