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
  /// When the app calls ``Store/compact(restoreWindow:isDryRun:vacuum:)``, and not otherwise.
  case manual(restoreWindow: RestoreWindow)
  /// Never by itself, and no days are noted: a call of ``Store/compact(restoreWindow:isDryRun:vacuum:)`` counts from
  /// the first one.
  case off

  /// For how long deleted records can be restored.
  package var restoreWindow: RestoreWindow {
    switch self {
    case .automatic(let window), .manual(let window): window
    case .off: .days(30)
    }
  }
}
