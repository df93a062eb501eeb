import Foundation

/// How much to run: a bounded form by default, as much as `TALLY_CRASH` says in the long form, one seed to replay it.
enum Effort {
  /// The factor of the long form: 1 without it.
  static let factor = Int(ProcessInfo.processInfo.environment["TALLY_CRASH"] ?? "") ?? 1

  /// The seeds of a random test: `count` times the factor, or the one of `TALLY_SEED`.
  static func seeds(_ count: Int) -> [UInt64] {
    if let seed = ProcessInfo.processInfo.environment["TALLY_SEED"].flatMap(UInt64.init) { return [seed] }
    return (1...count * factor).map(UInt64.init)
  }

  /// Some of a range, spread over it and others on each day; `count` in the bounded form, all in the long one.
  static func sample(_ range: ClosedRange<Int>, _ count: Int) -> [Int] {
    guard factor == 1, range.count > count else { return Array(range) }
    let step = range.count / count
    let offset = Int(Date().timeIntervalSince1970 / 86_400) % step
    return (0..<count).map { range.lowerBound + $0 * step + offset }
  }
}
