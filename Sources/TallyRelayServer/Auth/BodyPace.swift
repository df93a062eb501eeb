#if Relay
  import Synchronization

  /// The rate at which a body arrives. What comes faster than it must is a credit against a pause, but of no more than
  /// a client may leave an answer unread: a large body whose end does not come would otherwise take up room for an
  /// hour.
  final class BodyPace: Sendable {
    private let limits: RelaySettings.Limits
    private let time: @Sendable () -> Duration
    /// When more must have come; nil when all has.
    private let deadline: Mutex<Duration?>

    init(_ limits: RelaySettings.Limits, _ time: @escaping @Sendable () -> Duration) {
      (self.limits, self.time) = (limits, time)
      deadline = Mutex(time() + limits.slowBody)
    }

    func note(_ bytes: Int) {
      let latest = time() + limits.longestWrite
      let credit = Duration.seconds(1) * (Double(bytes) / Double(limits.slowestBytesPerSecond))
      deadline.withLock { deadline in deadline = deadline.map { max($0, min($0 + credit, latest)) } }
    }

    func end() { deadline.withLock { $0 = nil } }

    /// Whether less has come than must have by now.
    var isTooSlow: Bool { deadline.withLock { $0.map { time() > $0 } ?? false } }
  }
#endif
