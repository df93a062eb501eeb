import Foundation

/// How much of a random or long test runs. The environment says it:
///
/// - nothing: what somebody waits for (`make test`). No test takes more than five seconds on an idle machine.
/// - `TALLY_SEED=7`: only the seed 7, to replay a failure.
/// - `TALLY_CASES=1000`: the seeds 1 to 1,000.
/// - `TALLY_EFFORT=40`: forty times as much, and the tests that only a long run has (`make long`).
package enum Effort {
  private static let environment = ProcessInfo.processInfo.environment

  /// The one seed to replay, if any.
  package static let seed = environment["TALLY_SEED"].flatMap(UInt64.init)
  /// How many seeds were asked for, if any.
  private static let cases = environment["TALLY_CASES"].flatMap(UInt64.init)
  /// How much more to run than `make test` does; 1 unless it was asked for.
  package static let factor = max(1, environment["TALLY_EFFORT"].flatMap(Int.init) ?? 1)

  /// Whether this is a long run. A test of such a run only is `@Test(.enabled(if: Effort.isLong, "a long test"))`.
  package static let isLong = factor > 1

  /// The seeds of a random test: `count` times the factor, unless the environment says which.
  package static func seeds(_ count: Int) -> [UInt64] {
    if let seed { return [seed] }
    return Array(1...max(1, cases ?? UInt64(count * factor)))
  }

  /// Some of a range, spread over it and others on each day; at most `count` of them in a short run, all in a long one.
  package static func sample(_ range: ClosedRange<Int>, _ count: Int) -> [Int] {
    sample(Array(range), count)
  }

  /// The same of a list.
  package static func sample<Element>(_ all: [Element], _ count: Int) -> [Element] {
    guard !isLong, all.count > count else { return all }
    let day = Int(Date().timeIntervalSince1970 / 86_400)
    return (0..<count).map { index in
      let (first, next) = (index * all.count / count, (index + 1) * all.count / count)
      return all[first + day % (next - first)]
    }
  }
}
