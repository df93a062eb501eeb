#if Relay
  import ServiceLifecycle

  /// Removes what is left of large contents that were removed, and the rows of deleted spaces when their time is over;
  /// and wakes those who wait in a space that another process has deleted.
  struct SpaceSweeper: Service {
    let store: any RelayStorage
    let news: RelayNews
    /// Says that something large was removed.
    let removals: RelayNews
    /// The time for which a deleted space can be restored.
    let keep: Duration
    /// The time between two searches.
    let pause: Duration
    let time: @Sendable () -> Duration
    /// Is told of failures. What was not done is done at a later look.
    let report: @Sendable (any Error) -> Void

    func run() async throws {
      try await cancelWhenGracefulShutdown {
        while !Task.isCancelled {
          let ticket = removals.ticket(for: 0)
          if await sweep() { continue }
          do { _ = try await removals.wait(ticket, upTo: pause) } catch is CancellationError { return }
        }
      }
    }

    /// Wakes who waits in vain, and removes rows for as long as a pause takes.
    /// - Returns: whether there may be more to remove.
    private func sweep() async -> Bool {
      do {
        let watched = news.watched
        if !watched.isEmpty { for space in try await store.missing(among: watched) { news.announce(space) } }
        let end = time() + pause
        repeat {
          guard try await store.removeSlice(deletedFor: keep.components.seconds) else { return false }
        } while time() < end && !Task.isCancelled
        return true
      } catch is CancellationError {
        return false
      } catch {
        report(error)
        return false
      }
    }
  }
#endif
