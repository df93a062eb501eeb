/// For how long a deleted record can be restored: counted from the day on which the delete was first synced.
///
/// ```swift
/// var options = StoreOptions()
/// options.compaction = .automatic(restoreWindow: .days(90))
/// ```
public struct RestoreWindow: Sendable, Hashable {
  /// Full days, from 0 to 400.
  public let days: Int
  /// The longest window.
  package static let mostDays = 400

  /// So many full days, at most 400. With 0, what was deleted yesterday and has been synced may go today.
  public static func days(_ days: Int) -> RestoreWindow { RestoreWindow(days: min(max(0, days), mostDays)) }
}
