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
}
