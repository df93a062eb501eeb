import Foundation
import Synchronization
import Tally
import TallyCRDT

/// A store that a shell has open.
struct ShellStore {
  let store: Store
  /// As it was when the store was opened.
  let schema: Schema
  let clock: ShellClock
}

/// The system's clock until it is set; then it stands still.
final class ShellClock: Sendable {
  private let milliseconds = Mutex<UInt64?>(nil)

  var date: Date {
    milliseconds.withLock { $0 }.map { Date(timeIntervalSince1970: Double($0) / 1000) } ?? Date()
  }

  func stop(at time: UInt64) { milliseconds.withLock { $0 = time } }
}

/// Replica ids, from a number by SplitMix64 (Steele, Lea and Flood, 2014) or from the system.
final class ReplicaIDs: Sendable {
  private let generator: Mutex<SplitMix>

  init(seed: UInt64?) {
    generator = Mutex(SplitMix(state: seed ?? .random(in: .min ... .max)))
  }

  func next() -> ReplicaID { generator.withLock { ReplicaID.random(using: &$0) } }

  private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }
  }
}
