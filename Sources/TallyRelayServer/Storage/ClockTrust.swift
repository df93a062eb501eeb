#if Relay
  /// Whether what the clock says may be acted on where that cannot be taken back, as with the content of a deleted
  /// space: not until it has gone evenly for a while, beside a clock that cannot be set. A machine may start with a
  /// wrong time, and have it set right minutes later.
  struct ClockTrust {
    /// How far the two clocks may go apart between two looks.
    private static let slack: Int64 = 60
    /// The time for which it has to go evenly.
    private let probation: Duration
    private var last: (wall: Int64, time: Duration)?
    private var evenSince: Duration?

    init(after probation: Duration) { self.probation = probation }

    /// Looks at both clocks.
    /// - Parameters:
    ///   - wall: the clock, in seconds since 1970.
    ///   - time: the other one.
    /// - Returns: by how many seconds the clock was set since the last look; 0 if it was not.
    mutating func look(wall: Int64, time: Duration) -> Int64 {
      defer { last = (wall, time) }
      guard let last else {
        evenSince = time
        return 0
      }
      let jump = wall - last.wall - (time - last.time).components.seconds
      guard abs(jump) > Self.slack else { return 0 }
      evenSince = time
      return jump
    }

    func isTrusted(at time: Duration) -> Bool { evenSince.map { time - $0 >= probation } ?? false }
  }
#endif
