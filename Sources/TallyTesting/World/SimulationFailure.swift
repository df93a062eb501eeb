/// A failure that a simulation found, with the information to reproduce it.
public struct SimulationFailure: Error, Sendable, CustomStringConvertible {
  /// A description of the wrong behavior that a user would see, or of the thrown error.
  public let message: String
  /// The run's seed. Set `TALLY_SEED` to this number to replay the run.
  public let seed: UInt64
  /// The events before the failure, oldest first.
  public let trace: [String]
  /// The underlying error; nil if there is none.
  public let cause: (any Error)?

  init(_ message: String, seed: UInt64, trace: [String], cause: (any Error)? = nil) {
    (self.message, self.seed, self.trace, self.cause) = (message, seed, trace, cause)
  }

  /// The seed, the message and the events of the trace, one per line.
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
