import Foundation
import Tally
import TallyCRDT

/// The evening's clock: it shows what the story sets, so that every run tells the same.
///
/// An app leaves `StoreOptions.now` alone and gets the system's clock.
final class StoryClock: @unchecked Sendable {
  private let lock = NSLock()
  private var date = StoryClock.date(day: 1, "00:00")

  var now: Date { lock.withLock { date } }

  func set(_ date: Date) { lock.withLock { self.date = date } }

  /// A time on a day of May 2026, UTC.
  static func date(day: Int, _ time: String) -> Date {
    let parts = time.split(separator: ":").compactMap { Int($0) }
    let minutes = parts.count == 2 ? parts[0] * 60 + parts[1] : 0
    // 2026-05-01 00:00 UTC.
    return Date(timeIntervalSince1970: 1_777_593_600 + Double((day - 1) * 86_400 + minutes * 60))
  }

  /// The time of day, UTC.
  static func text(_ time: HybridTime) -> String {
    let minutes = Int(time.milliseconds / 60_000 % 1440)
    return String(format: "%02d:%02d", minutes / 60, minutes % 60)
  }
}
