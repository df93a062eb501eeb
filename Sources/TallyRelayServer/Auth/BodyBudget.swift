#if Relay
  import Synchronization
  import TallyRelayProtocol

  /// How many bytes of bodies are in memory at once, of all requests together. Whoever finds no room comes back.
  final class BodyBudget: Sendable {
    private let limit: Int
    private let used = Mutex(0)

    init(_ limit: Int) { self.limit = limit }

    /// Runs what takes in a body of at most so many bytes.
    /// - Throws: `RelayProblem` if there is no room.
    func withRoom<T>(for bytes: Int, _ body: () async throws -> T) async throws -> T {
      let hasRoom = used.withLock { used in
        guard used + bytes <= limit else { return false }
        used += bytes
        return true
      }
      guard hasRoom else { throw RelayProblem(.busy, "the relay takes in too much at once", retryAfter: 1) }
      defer { used.withLock { $0 -= bytes } }
      return try await body()
    }
  }
#endif
