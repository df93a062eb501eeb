#if Postgres
  import Foundation
  import Synchronization

  /// Hears of what other processes append, by `LISTEN` on a connection and a thread of its own; and compares the heads
  /// of the logs that somebody waits for with what is known of them, in case nobody has said anything: a process may
  /// end between its commit and its notification, and connections break.
  final class PostgresFollower: Sendable {
    private let reading: PostgresThreads
    private let watched: @Sendable () -> [Int64]
    private let announce: @Sendable (Int64) -> Void
    /// The positions, as far as reported or seen, of the logs that somebody waits for.
    private let known = Mutex<[Int64: Int64]>([:])
    private let comparing = Mutex<Task<Void, Never>?>(nil)
    /// A pipe; what is written into it ends the thread.
    private let endOut: Int32
    private let endIn: Int32
    private let ended = DispatchSemaphore(value: 0)
    private let isClosed = Mutex(false)

    /// Begins to listen and to compare. `isOwn` says whether a server's process is the one that this process notifies
    /// through.
    init(
      _ address: PostgresAddress, _ reading: PostgresThreads, _ settings: PostgresRelayStore.Settings,
      watched: @escaping @Sendable () -> [Int64], announce: @escaping @Sendable (Int64) -> Void,
      isOwn: @escaping @Sendable (Int32) -> Bool
    ) {
      (self.reading, self.watched, self.announce) = (reading, watched, announce)
      var ends: [Int32] = [-1, -1]
      precondition(pipe(&ends) == 0, "no descriptor is left")
      (endOut, endIn) = (ends[0], ends[1])
      let thread = Thread { [self] in
        listen(address, settings.reconnection, isOwn)
        ended.signal()
      }
      thread.name = "tally-postgres-listen"
      thread.start()
      let task = Task { [weak self] in
        while !Task.isCancelled {
          // Cancellation ends the pause, and then the loop.
          try? await Task.sleep(for: settings.comparison)
          await self?.compare()
        }
      }
      comparing.withLock { $0 = task }
    }

    deinit {
      Foundation.close(endOut)
      Foundation.close(endIn)
    }

    // MARK: Listening

    private func listen(_ address: PostgresAddress, _ pause: Duration, _ isOwn: (Int32) -> Bool) {
      repeat {
        do {
          let session = try PostgresSession(address)
          try session.script("LISTEN \(PostgresSchema.channel)")
          // What was said before is not heard any more.
          Task { await compare() }
          while let notifications = try session.notifications(until: endOut) {
            for notification in notifications where !isOwn(notification.sender) { hear(notification.text) }
          }
        } catch {
          // Meanwhile comparing finds what is new; metrics count what requests see of the same failure.
        }
      } while !hasEnded(within: pause)
    }

    /// Waits for the end, so long at most.
    private func hasEnded(within pause: Duration) -> Bool {
      var descriptor = pollfd(fd: endOut, events: Int16(POLLIN), revents: 0)
      return poll(&descriptor, 1, Int32(pause / .milliseconds(1))) > 0
    }

    private func hear(_ text: String) {
      let heads = PostgresNotifier.heads(text)
      note(heads)
      for space in heads.keys.sorted() { announce(space) }
    }

    /// Keeps in mind how far logs have come that were or will be announced.
    func note(_ heads: [Int64: Int64]) { known.withLock { $0.merge(heads) { $1 } } }

    // MARK: Comparing

    /// Announces what has come further than is known, and what nothing is known of.
    private func compare() async {
      let watched = watched()
      guard !watched.isEmpty else { return known.withLock { $0 = [:] } }
      let heads: [Int64: Int64]
      do {
        heads = try await reading.run { session in
          let rows = try session.execute(
            "SELECT number, head FROM tally_relay.space WHERE number = ANY($1)", [.integers(watched)])
          return try rows.reduce(into: [:]) { heads, row in heads[try row.integer(0)] = try row.integer(1) }
        }
      } catch {
        // It is compared again after the same time; metrics count what requests see of the same failure.
        return
      }
      let news = known.withLock { known in
        defer { known = heads }
        return heads.filter { known[$0.key] != $0.value }
      }
      for space in news.keys.sorted() { announce(space) }
    }

    func close() {
      let isFirst = isClosed.withLock { isClosed in
        defer { isClosed = true }
        return !isClosed
      }
      guard isFirst else { return }
      comparing.withLock { $0 }?.cancel()
      var byte: UInt8 = 0
      while write(endIn, &byte, 1) < 0, errno == EINTR {}
      // It ends at once, unless it just connects to a server that does not answer.
      _ = ended.wait(timeout: .now() + 10)
    }
  }
#endif
