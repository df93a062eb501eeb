import TallyAssets
import TallyStore

/// What an engine does for its store besides syncing.
extension SyncEngine {
  /// Captures what other programs write, which tells everybody who follows the store's changes. Once a day it compacts,
  /// and removes files that nothing names.
  func lookOutside() {
    guard looking == nil else { return }
    let (interval, looksOutside) = (settings.outsideInterval ?? .seconds(60), settings.outsideInterval != nil)
    looking = Task { [weak store, logger = settings.logger] in
      var lastError = ""
      var nextCollection = ContinuousClock.now
      // What was interrupted when the app ended.
      await withTaskExecutorPreference(QueueExecutor("tally.upkeep")) { store?.assets.finishRemovals() }
      while !Task.isCancelled {
        do {
          try await Task.sleep(for: interval)
          guard let store else { return }
          try await withTaskExecutorPreference(QueueExecutor("tally.upkeep")) {
            if looksOutside { try store.captureChanges() }
            try store.compactIfDue()
          }
          if ContinuousClock.now >= nextCollection {
            nextCollection = .now + .seconds(86_400)
            try await withTaskExecutorPreference(QueueExecutor("tally.upkeep")) {
              if store.file != nil, try !store.isDamaged { try store.assets.collect() }
            }
          }
        } catch is CancellationError {
          return
        } catch {
          // The passes meet the same error and say so in the status.
          if "\(error)" != lastError {
            logger.warning("changes cannot be captured, or deleted records emptied", metadata: ["error": "\(error)"])
          }
          lastError = "\(error)"
        }
      }
    }
  }
}
