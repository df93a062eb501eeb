import TallyCRDT

/// The checksum of one record's or link's own state: the low 24 bits of what the state adds to the store's fingerprint.
///
/// The fingerprint is one sum for the whole store, so it tells that something is damaged when everything is read. This
/// sum is stored with each state, and tells the same of that state whenever it is read to be given away. Like the
/// fingerprint it is updated by differences: what a write does not touch is not hashed again, so damage in it is not
/// taken for content. Of random damage, one case in 16,777,216 passes.
package struct StateSum: Hashable {
  /// At most 24 bits.
  private(set) var rawValue: UInt32

  static let size = 3
  private static let mask: UInt32 = 0xFF_FFFF

  /// The sum of a state with nothing in it.
  init() { rawValue = 0 }

  /// The sum with these bits; any above the 24 are dropped.
  init(rawValue: UInt32) { self.rawValue = rawValue & Self.mask }

  /// The sum of a state that adds this much to the fingerprint.
  init(_ fingerprint: Fingerprint) { self.init(rawValue: UInt32(truncatingIfNeeded: fingerprint.first)) }

  /// The sum after a write that adds `difference` to the fingerprint.
  static func + (sum: StateSum, difference: Fingerprint) -> StateSum {
    StateSum(rawValue: sum.rawValue &+ UInt32(truncatingIfNeeded: difference.first))
  }

  /// The three bytes, the most significant first.
  var bytes: (UInt8, UInt8, UInt8) {
    (UInt8(rawValue >> 16), UInt8(rawValue >> 8 & 0xFF), UInt8(rawValue & 0xFF))
  }
}
