/// The time during which a deleted record can be restored, counted from the day on which its delete was first synced.
///
/// ```swift
/// var options = StoreOptions()
/// options.compaction = .automatic(restoreWindow: .days(90))
/// ```
public struct RestoreWindow: Sendable, Hashable {
  /// The length in full days, from 0 to 400.
  public let days: Int
  /// The longest window.
  package static let mostDays = 400

  /// Returns a window of this many full days, at most 400. With 0, a record that was deleted and synced yesterday may
  /// be emptied today.
  public static func days(_ days: Int) -> RestoreWindow { RestoreWindow(days: min(max(0, days), mostDays)) }
}
