/// A failure that a simulation found, with what is needed to reproduce it.
public struct SimulationFailure: Error, Sendable, CustomStringConvertible {
  /// A description of what a user would see and must not, or of what was thrown.
  public let message: String
  /// The run's seed: `TALLY_SEED` with this number plays the run again.
  public let seed: UInt64
  /// The events until then, oldest first.
  public let trace: [String]
  /// The error that was thrown, if any.
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

/// A fault that a world finds; `simulate` adds seed and trace.
struct Finding: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
