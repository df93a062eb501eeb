import Foundation
import TallyCRDT

/// A stamp: who wrote something, in which transaction, and when by the writer's clock.
package struct StampReport: Sendable, Hashable, Codable {
  /// The time in ISO 8601; nil for default data, whose stamps have a version in its place.
  package var at: String?
  /// The replica's id.
  package var by: String
  /// The number of the transaction.
  package var sequence: UInt64
  /// The version of default data that wrote it; nil for people's writes.
  package var seedVersion: UInt64?

  /// The report of a stamp.
  package init(_ stamp: Stamp) {
    let isSeed = stamp.rank == .seed
    at = isSeed ? nil : Self.text(stamp.time)
    by = "\(stamp.dot.replica)"
    sequence = stamp.dot.sequence
    seedVersion = isSeed ? stamp.time.milliseconds : nil
  }

  /// A time in ISO 8601, to the millisecond.
  package static func text(_ time: HybridTime) -> String {
    text(Date(timeIntervalSince1970: Double(time.milliseconds) / 1000))
  }

  /// A date in ISO 8601, to the millisecond.
  package static func text(_ date: Date) -> String {
    date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }
}

/// A state vector as JSON has it: sequences by replica.
package func report(_ vector: StateVector) -> [String: UInt64] {
  Dictionary(uniqueKeysWithValues: vector.entries.map { ("\($0.replica)", $0.sequence) })
}
