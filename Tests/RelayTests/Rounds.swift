#if Relay
  import TestEffort
  import Testing

  /// How often long tests do what they do.
  enum Rounds {
    /// How often a relay is killed under its writers.
    static let kills = 20 * Effort.factor
    /// How often the network goes away.
    static let cuts = 2 * Effort.factor
    /// How many puts are acknowledged while relays and databases are killed, on each storage; and in a long run.
    static let (chaos, longChaos) = (2_000, 100_000)
    /// How often PostgreSQL's server is ended under writers.
    static let crashes = 4 * Effort.factor
  }

  extension Trait where Self == TimeLimitTrait {
    /// A few minutes for a debug build on a busy machine, and so many more for each hundred rounds.
    static func timeLimit(_ minutes: Int, perHundred rounds: Int) -> Self {
      .timeLimit(.minutes(5 + minutes * rounds / 100))
    }
  }
#endif
