import GRDB
import TallyStore
import TallyTesting

/// What is played between the steps of histories of values: other ways to write, in every second block of 32 seeds.
///
/// They are drawn from random numbers of their own, so a seed draws the same steps with and without them, and histories
/// that consist of these steps alone are still played as often as all others.
struct OtherSteps {
  /// What they are drawn from.
  var random: SplitMix64
  private let arePlayed: Bool

  init(_ seed: UInt64) {
    random = SplitMix64(seed: seed ^ 0x6f74_6865_7273)
    arePlayed = seed / 32 % 2 == 1
  }

  /// Whether one comes now, which happens so many times in a hundred.
  mutating func isNext(_ percent: Int) -> Bool { arePlayed && random.chance(percent) }

  mutating func below(_ bound: Int) -> Int { random.below(bound) }
  mutating func chance(_ percent: Int) -> Bool { random.chance(percent) }
  mutating func pick<Element>(_ choices: [Element]) -> Element { random.pick(choices) }

  /// A change that writes to no row.
  enum Setting {
    /// The file or its connection has been changed; how, for the log.
    case changed(String)
    /// The app's trigger is to be made, if it is not there, or to be dropped.
    case trigger(isThere: Bool)
  }

  /// Has SQLite write the file anew, turns recursive triggers on or off, or says what becomes of the app's trigger.
  mutating func changeSetting(of store: Store) throws -> Setting {
    switch below(4) {
    case 0:
      try store.writeWithoutTransaction { try $0.execute(sql: "VACUUM") }
      return .changed("VACUUM")
    case 1:
      let isOn = chance(70)
      try store.writeWithoutTransaction { try $0.execute(sql: "PRAGMA recursive_triggers = \(isOn ? "ON" : "OFF")") }
      return .changed("recursive_triggers \(isOn)")
    case let other: return .trigger(isThere: other == 2)
    }
  }
}
