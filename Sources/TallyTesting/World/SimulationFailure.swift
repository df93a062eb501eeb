/// What a simulation found, with what is needed to see it again.
public struct SimulationFailure: Error, Sendable, CustomStringConvertible {
  /// What a person would see that they must not, or what threw.
  public let message: String
  /// The run's seed: `TALLY_SEED` with this number plays the run again.
  public let seed: UInt64
  /// What happened until then, oldest first.
  public let trace: [String]
  /// What was thrown, if anything was.
  public let cause: (any Error)?

  init(_ message: String, seed: UInt64, trace: [String], cause: (any Error)? = nil) {
    (self.message, self.seed, self.trace, self.cause) = (message, seed, trace, cause)
  }

  /// The seed, the message and the trace, a line each.
  public var description: String {
    let steps = trace.enumerated().map { "  \($0.offset + 1). \($0.element)" }
    return (["TALLY_SEED=\(seed)", message] + steps).joined(separator: "\n")
  }
}

/// What a world finds wrong; `simulate` adds seed and trace.
struct Finding: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
