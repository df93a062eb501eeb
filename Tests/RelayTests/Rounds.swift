#if Relay
  import Foundation
  import Testing

  /// How often long tests do what they do.
  enum Rounds {
    /// How often a relay is killed under its writers: TALLY_RELAY_KILLS, or twenty times.
    static let kills = number("TALLY_RELAY_KILLS") ?? 20
    /// How often the network goes away: TALLY_NETWORK_CUTS, or twice.
    static let cuts = number("TALLY_NETWORK_CUTS") ?? 2

    private static func number(_ name: String) -> Int? {
      ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }
  }

  extension Trait where Self == TimeLimitTrait {
    /// A few minutes for a debug build on a busy machine, and so many more for each hundred rounds.
    static func timeLimit(_ minutes: Int, perHundred rounds: Int) -> Self {
      .timeLimit(.minutes(5 + minutes * rounds / 100))
    }
  }
#endif
