import Foundation
import Synchronization

/// The clock of one simulated device. It stands still unless it is advanced, and may be set to any time.
public final class SimulatedClock: Sendable {
  private let time: Mutex<UInt64>

  init(_ milliseconds: UInt64) { time = Mutex(milliseconds) }

  /// The time in milliseconds since 1970.
  public var milliseconds: UInt64 {
    get { time.withLock { $0 } }
    set { time.withLock { $0 = newValue } }
  }

  /// The time as a date, as the device sees it.
  public var date: Date {
    get { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
    set { milliseconds = UInt64(max(0, newValue.timeIntervalSince1970 * 1000)) }
  }

  /// Lets the given time pass on this device.
  public func advance(milliseconds: UInt64) { time.withLock { $0 &+= milliseconds } }

  /// 2026-01-01.
  static let start: UInt64 = 1_767_225_600_000
  /// 1970, 2099, and some hours to both sides of the start.
  static let odd: [UInt64] = [0, 4_070_908_800_000, start - 40_000_000, start + 40_000_000]
}
