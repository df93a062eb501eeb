/// A small generator whose whole state is one seed (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014). The standard library's way to draw from a range may change; `below` does not, so seeds stay
/// valid.
package struct SplitMix64: RandomNumberGenerator {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }

  /// A number from 0 up to and without `bound`.
  package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  /// Whether an event of `percent` in a hundred happens.
  package mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  /// One of several, evenly.
  package mutating func pick<Element>(_ choices: [Element]) -> Element { choices[below(choices.count)] }
}
