#if Relay
  import Synchronization
  import TallyRelayProtocol

  /// A budget for the bytes of bodies in memory at once, of all requests together and of each token. A request that
  /// finds no room must be made again.
  final class BodyBudget: Sendable {
    private struct State {
      var used = 0
      var byToken: [[UInt8]: Int] = [:]
    }

    private let limit: Int
    private let state = Mutex(State())

    init(_ limit: Int) { self.limit = limit }

    /// Runs what takes in a body of at most so many bytes. A token gets a quarter of the room, so that one that sends
    /// nothing keeps nobody else out.
    /// - Throws: `RelayProblem` if there is no room.
    func withRoom<T>(for bytes: Int, of token: [UInt8], _ body: () async throws -> T) async throws -> T {
      let hasRoom = state.withLock { state in
        let own = state.byToken[token, default: 0] + bytes
        guard state.used + bytes <= limit, own <= max(limit / 4, bytes) else { return false }
        state.used += bytes
        state.byToken[token] = own
        return true
      }
      guard hasRoom else { throw RelayProblem(.busy, "the relay takes in too much at once", retryAfter: 1) }
      defer {
        state.withLock { state in
          state.used -= bytes
          let rest = state.byToken[token, default: 0] - bytes
          state.byToken[token] = rest > 0 ? rest : nil
        }
      }
      return try await body()
    }
  }

  /// The rate at which a body arrives.
  final class BodyPace: Sendable {
    private let limits: RelaySettings.Limits
    private let time: @Sendable () -> Duration
    private let start: Duration
    /// The number of bytes that have come; nil when all have.
    private let count = Mutex<Int?>(0)

    init(_ limits: RelaySettings.Limits, _ time: @escaping @Sendable () -> Duration) {
      (self.limits, self.time, start) = (limits, time, time())
    }

    func note(_ bytes: Int) { count.withLock { $0 = $0.map { $0 + bytes } } }
    func end() { count.withLock { $0 = nil } }

    /// Whether less has come than must have by now.
    var isTooSlow: Bool {
      guard let count = count.withLock({ $0 }) else { return false }
      return time() - start > limits.slowBody + .seconds(1) * (count / limits.slowestBytesPerSecond)
    }
  }
#endif
