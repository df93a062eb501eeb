#if Relay
  import Synchronization

  /// Tokens that counted when they were looked up, less than a minute ago. It says whose body is worth taking in, and
  /// nothing of whether the token still counts.
  final class KnownTokens: Sendable {
    private struct Known {
      let bearer: RelayStore.Bearer
      let time: Duration
    }

    private let time: @Sendable () -> Duration
    private let known = Mutex<[[UInt8]: Known]>([:])
    /// How long a look counts.
    private static let longest = Duration.seconds(60)
    /// Beyond that all are forgotten, and looked up again.
    private static let most = 10_000

    init(_ time: @escaping @Sendable () -> Duration) { self.time = time }

    subscript(hash: [UInt8]) -> RelayStore.Bearer? {
      get {
        let now = time()
        return known.withLock { known in
          guard let found = known[hash], now - found.time < Self.longest else { return nil }
          return found.bearer
        }
      }
      set {
        let now = time()
        known.withLock { known in
          if known.count >= Self.most { known = [:] }
          known[hash] = newValue.map { Known(bearer: $0, time: now) }
        }
      }
    }
  }
#endif
