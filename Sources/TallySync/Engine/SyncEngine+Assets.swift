import TallyAssets
import TallyStore

/// The part of the status that concerns files, and passes for files that the app waits for.
extension SyncEngine {
  /// Begins a pass when the app asks for a file, and counts again when one was added.
  func watchAssets() {
    guard watching == nil, let folder = try? store.assets.folder.path else { return }
    let (wishes, additions) = (AssetNews.wishes.stream(of: folder), AssetNews.additions.stream(of: folder))
    watching = Task { [weak self] in
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          for await _ in wishes {
            guard let self else { return }
            await self.wakeAll()
          }
        }
        group.addTask {
          await self?.countAssets()
          for await _ in additions {
            // The row follows the file.
            try? await Task.sleep(for: .seconds(1))
            guard let self, !Task.isCancelled else { return }
            await self.countAssets()
          }
        }
      }
    }
  }

  /// Says in the status how many files no mailbox is known to have.
  func countAssets() async {
    do {
      let count = try await withTaskExecutorPreference(QueueExecutor("tally.assets")) { [store] in
        try store.assets.unsent().count
      }
      setUnsentAssets(count)
    } catch {
      settings.logger.warning("the files that were not sent are not counted", metadata: ["error": "\(error)"])
    }
  }
}
