#if Relay
  import ServiceLifecycle

  /// Removes what is left of large contents that were removed, uploads that have expired, and the rows of deleted
  /// spaces when their time is over; and wakes those who wait in a space that another process has deleted.
  struct SpaceSweeper: Service {
    let store: any RelayStorage
    let news: RelayNews
    /// Says that something large was removed.
    let removals: RelayNews
    /// The time for which a deleted space can be restored.
    let keep: Duration
    /// The time between two searches.
    let pause: Duration
    /// The time for which the clock has to go evenly before something begins to be removed.
    let probation: Duration
    let time: @Sendable () -> Duration
    /// Is told of failures. What was not done is done at a later look.
    let report: @Sendable (any Error) -> Void
    /// Is told what the owner should know.
    let note: @Sendable (String) -> Void

    func run() async throws {
      try await cancelWhenGracefulShutdown {
        var trust = ClockTrust(after: probation)
        while !Task.isCancelled {
          let ticket = removals.ticket(for: 0)
          if await sweep(&trust) { continue }
          do { _ = try await removals.wait(ticket, upTo: pause) } catch is CancellationError { return }
        }
      }
    }

    /// Wakes who waits in vain, and removes rows for as long as a pause takes.
    /// - Returns: whether there may be more to remove.
    private func sweep(_ trust: inout ClockTrust) async -> Bool {
      do {
        let jump = trust.look(wall: try await store.time(), time: time())
        if jump != 0 {
          let more = probation.components.seconds
          note("the clock was set by \(jump) seconds; what has become due is kept for \(more) more")
        }
        let watched = news.watched
        if !watched.isEmpty { for space in try await store.missing(among: watched) { news.announce(space) } }
        let end = time() + pause
        let seconds = trust.isTrusted(at: end - pause) ? keep.components.seconds : nil
        repeat {
          guard try await store.removeSlice(deletedFor: seconds) else { return false }
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
