/// When the content of deleted records is removed for good.
///
/// ```swift
/// var options = StoreOptions()
/// options.compaction = .automatic(restoreWindow: .days(90))
/// ```
public enum Compaction: Sendable, Hashable {
  /// A sync engine compacts once a day while it runs. Without an engine, call
  /// ``Store/compact(restoreWindow:isDryRun:vacuum:)``.
  case automatic(restoreWindow: RestoreWindow)
  /// Only when the app calls ``Store/compact(restoreWindow:isDryRun:vacuum:)``.
  case manual(restoreWindow: RestoreWindow)
  /// Never automatically. No days are recorded either: the first call of
  /// ``Store/compact(restoreWindow:isDryRun:vacuum:)`` begins the count.
  case off

  /// For how long deleted records can be restored.
  package var restoreWindow: RestoreWindow {
    switch self {
    case .automatic(let window), .manual(let window): window
    case .off: .days(30)
    }
  }
}
