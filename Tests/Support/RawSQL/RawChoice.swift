import Foundation
import TallyTesting

/// Which features histories may have, and which all of them have.
///
/// The environment variable `TALLY_RAWSQL` chooses: `renames,live` leaves only those two, `-live` leaves out that one,
/// `+live` gives it to every history.
package struct RawChoice: Equatable, Sendable {
  package var allowed: Set<RawFeature>
  package var required: Set<RawFeature> = []

  package init(allowed: Set<RawFeature>, required: Set<RawFeature> = []) {
    (self.allowed, self.required) = (allowed.union(required), required)
  }

  /// What `TALLY_RAWSQL` says; everything without it.
  package static let environment = RawChoice(ProcessInfo.processInfo.environment["TALLY_RAWSQL"] ?? "")

  /// Reads a list as `outside,renames,+live`, `-live,-seeds`, `all` or `all,-live`.
  package init(_ list: String) {
    let words = list.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    let wanted = words.filter { !$0.hasPrefix("-") && !$0.hasPrefix("+") }
    let start: Set<RawFeature> =
      switch wanted {
      case [], ["all"]: Set(RawFeature.allCases)
      default: Set(wanted.map(Self.named))
      }
    func marked(_ sign: String) -> [RawFeature] {
      words.filter { $0.hasPrefix(sign) }.map { Self.named(String($0.dropFirst())) }
    }
    self.init(allowed: start.subtracting(marked("-")), required: Set(marked("+")))
  }

  private static func named(_ word: String) -> RawFeature {
    guard let feature = RawFeature(rawValue: word) else {
      preconditionFailure("there is no feature \(word); there are \(RawFeature.allCases.map(\.rawValue))")
    }
    return feature
  }

  /// What a seed's history has. Every feature draws, also one that is switched off, so that a seed's other features
  /// stay.
  func draw(_ random: inout SplitMix64) -> Set<RawFeature> {
    var drawn = Set<RawFeature>()
    for feature in RawFeature.allCases where random.chance(feature.percent) { drawn.insert(feature) }
    var features = drawn.intersection(allowed).union(required)
    // A row that a trigger inserts again can get the number of the one that goes, and SQLite's own full-text recipe is
    // then out of step.
    if features.contains(.fullText) { features.remove(.undead) }
    // With a row that nobody saw go the times of its values are lost, over which the next ones are to win.
    if features.contains(.quietReplace) { features.remove(.clocks) }
    return features
  }
}
