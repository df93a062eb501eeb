#if Relay
  import Synchronization

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
