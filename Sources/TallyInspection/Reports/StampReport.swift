import Foundation
import TallyCRDT

/// A stamp: who wrote something, in which transaction, and when by the writer's clock.
package struct StampReport: Sendable, Hashable, Codable {
  /// The time in ISO 8601; nil for default data, whose stamps have a version in its place, and for what keeps the
  /// greatest or the least and was never set.
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
    at = isSeed || stamp.time == .earliest ? nil : Self.text(stamp.time)
    by = "\(stamp.dot.replica)"
    sequence = stamp.dot.sequence
    seedVersion = isSeed ? stamp.time.milliseconds : nil
  }

  /// A time in ISO 8601, to the millisecond.
  package static func text(_ time: HybridTime) -> String {
    text(milliseconds: Int64(clamping: time.milliseconds))
  }

  /// A date in ISO 8601, to the millisecond.
  package static func text(_ date: Date) -> String {
    text(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
  }

  /// Whole milliseconds, since a fraction of a second may be a little less than what was meant.
  private static func text(milliseconds: Int64) -> String {
    let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
    let (whole, fraction) = rest < 0 ? (seconds - 1, rest + 1000) : (seconds, rest)
    let text = Date(timeIntervalSince1970: Double(whole)).formatted(Date.ISO8601FormatStyle())
    return text.dropLast() + String(format: ".%03dZ", fraction)
  }
}

/// A state vector as JSON has it: sequences by replica.
package func report(_ vector: StateVector) -> [String: UInt64] {
  Dictionary(uniqueKeysWithValues: vector.entries.map { ("\($0.replica)", $0.sequence) })
}
