import TallyAssets
import TallyStore

/// The part of the status that concerns files, and passes for files that the app waits for.
extension SyncEngine {
  /// Begins a pass when the app asks for a file, and counts again when one was added or has come.
  func watchAssets() {
    guard watching == nil, let folder = try? store.assets.folder.path else { return }
    let (wishes, arrivals) = (AssetNews.wishes.stream(of: folder), AssetNews.arrivals.stream(of: folder))
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
          for await _ in arrivals {
            // The row follows the file.
            try? await Task.sleep(for: .seconds(1))
            guard let self, !Task.isCancelled else { return }
            await self.countAssets()
            // What a peer has brought goes on to mailboxes.
            if await self.status.unsentAssets != 0 { await self.wakeMailboxes() }
          }
        }
      }
    }
  }

  /// How long files may keep a session that is not live from its end.
  static let fileTime: Duration = .seconds(20)

  /// Begins a pass through each mailbox for files that waits for a reason.
  private func wakeMailboxes() {
    guard !status.isPaused else { return }
    for case .mailbox(let mailbox, let name) in peers where mailbox.carriesAssets {
      // One that has failed may have said when it wants to be asked again.
      if status.peers.first(where: { $0.id == name })?.phase == .idle { wakers[name]?.yield() }
    }
  }

  /// Says in the status how many files no mailbox is known to have, or that the number is unknown.
  func countAssets() async {
    do {
      let count = try await withTaskExecutorPreference(QueueExecutor("tally.assets")) { [store] in
        try store.assets.unsent().count
      }
      setUnsentAssets(count)
    } catch {
      setUnsentAssets(nil)
      settings.logger.warning("the files that were not sent are not counted", metadata: ["error": "\(error)"])
    }
  }
}
