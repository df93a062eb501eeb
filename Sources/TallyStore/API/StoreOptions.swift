import Foundation
import GRDB
import Logging
import TallyCRDT

/// What a store takes from its surroundings.
public struct StoreOptions: Sendable {
  /// How many seconds a write waits for another process that is writing.
  public var busyTimeout: TimeInterval = 5
  /// The clock. Only the stamps of local writes depend on it.
  public var now: @Sendable () -> Date = { Date() }
  /// Where warnings go.
  public var logger = Logger(label: "tally.store")
  /// How many entries the conflict journal keeps; older ones go first.
  public var conflictLimit = 10_000
  /// Opens the file without writing to it, for a tool that only looks.
  public var isReadOnly = false
  /// Called for each SQLite connection, for the app's functions, collations or pragmas.
  public var prepareDatabase: (@Sendable (Database) throws -> Void)?
  /// Faults that tests put in.
  package var planted: PlantedFault = []
  /// Where replica ids come from; nil for the system's randomness.
  package var mintReplica: (@Sendable () -> ReplicaID)?

  /// The usual options.
  public init() {}

  var environment: StoreEnvironment {
    let now = now
    let mint = mintReplica
    return StoreEnvironment(
      now: { HybridTime(clock: now().timeIntervalSince1970 * 1000) },
      mintReplica: {
        if let mint { return mint() }
        var generator = SystemRandomNumberGenerator()
        return .random(using: &generator)
      },
      logger: logger, conflictLimit: conflictLimit, planted: planted)
  }
}
