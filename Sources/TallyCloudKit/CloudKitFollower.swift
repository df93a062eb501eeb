#if canImport(CloudKit)
  import Synchronization
  import TallySync

  /// What a mailbox knows in this process: after which cursors nothing is known to have come, who waits, whether
  /// notifications arrive, and until when iCloud asks not to be asked.
  final class CloudKitFollower: Sendable {
    private struct Waiter {
      var cursor: MailboxCursor?
      var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
      /// Cursors after which nothing is known to have come, with the own entries that came since their token was given.
      var current: [MailboxCursor: Set<String>] = [:]
      var asked: CloudKitMailbox.Instant?
      var isNotified = false
      var isSubscribed = false
      var isChecked = false
      /// Grows with each notification and each change of the account, so that an answer that was on its way meanwhile
      /// counts for nothing.
      var generation = 0
      /// Grows with each change of the account.
      var accounts = 0
      var pausedUntil: CloudKitMailbox.Instant?
      var pause: CloudKitError?
      var sentAlong = 0
      var nextWaiter = 0
      var waiting: [Int: Waiter] = [:]

      mutating func takeWaiting(besides cursor: MailboxCursor? = nil) -> [CheckedContinuation<Void, any Error>] {
        let woken = waiting.filter { cursor == nil || $0.value.cursor != cursor }
        for id in woken.keys { waiting[id] = nil }
        return woken.values.map(\.continuation)
      }
    }

    private let state = Mutex(State())
    private static let mostCursors = 16

    var isSubscribed: Bool {
      get { state.withLock { $0.isSubscribed } }
      set { state.withLock { $0.isSubscribed = newValue } }
    }
    var isChecked: Bool { state.withLock { $0.isChecked } }
    var generation: Int { state.withLock { $0.generation } }
    var accounts: Int { state.withLock { $0.accounts } }

    /// The account was found to be the right one, unless it has changed meanwhile.
    func noteChecked(since accounts: Int) -> Bool {
      state.withLock {
        if $0.accounts == accounts { $0.isChecked = true }
        return $0.isChecked
      }
    }

    // MARK: What is known of news

    /// Whether nothing has come after a cursor, as far as notifications tell, which arrive, and for not longer than
    /// silence is believed.
    func isCurrent(_ cursor: MailboxCursor, at now: CloudKitMailbox.Instant, believing silence: Duration) -> Bool {
      state.withLock { state in
        guard state.isNotified, state.isSubscribed, state.current[cursor] != nil, let asked = state.asked else {
          return false
        }
        return now - asked < silence
      }
    }

    /// The entries that this mailbox itself has put since a cursor's token was given.
    func own(since cursor: MailboxCursor?) -> Set<String> {
      state.withLock { state in cursor.flatMap { state.current[$0] } ?? [] }
    }

    /// iCloud was read to its end. What was new to one reader is so to others, also if no notification has told.
    func noteEnd(_ cursor: MailboxCursor, hadNews: Bool, at now: CloudKitMailbox.Instant, since generation: Int) {
      let woken = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
        guard state.generation == generation else { return [] }
        if hadNews || state.current.count >= Self.mostCursors { state.current = [:] }
        state.current[cursor] = []
        state.asked = now
        return hadNews ? state.takeWaiting(besides: cursor) : []
      }
      for continuation in woken { continuation.resume() }
    }

    /// An entry was put by who had read up to a cursor.
    /// - Returns: the cursor from which to continue, if nothing else is known to have come.
    func notePut(_ name: String, after cursor: MailboxCursor?) -> MailboxCursor? {
      let (next, woken) = state.withLock { state -> (MailboxCursor?, [CheckedContinuation<Void, any Error>]) in
        guard let cursor, let own = state.current[cursor], let next = cursor.advanced() else {
          state.current = [:]
          return (nil, state.takeWaiting())
        }
        // For everybody else there is something.
        state.current = [next: own.union([name])]
        return (next, state.takeWaiting(besides: next))
      }
      for continuation in woken { continuation.resume() }
      return next
    }

    /// Something may have come, or somebody else be signed in.
    func noteNews(isNotification: Bool = false, isAccount: Bool = false) {
      let woken = state.withLock { state in
        state.generation += 1
        state.current = [:]
        if isNotification { state.isNotified = true }
        if isAccount { (state.isChecked, state.isSubscribed, state.accounts) = (false, false, state.accounts + 1) }
        return state.takeWaiting()
      }
      for continuation in woken { continuation.resume() }
    }

    /// Notifications will arrive: the app is registered for them.
    func noteRegistered() { state.withLock { $0.isNotified = true } }

    /// Returns when something may have come after a cursor.
    /// - Throws: `CancellationError`.
    func wait(after cursor: MailboxCursor?) async throws {
      let id = state.withLock { state in
        defer { state.nextWaiter += 1 }
        return state.nextWaiter
      }
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          let now: Result<Void, any Error>? = state.withLock { state in
            if Task.isCancelled { return .failure(CancellationError()) }
            guard let cursor, state.current[cursor] != nil else { return .success(()) }
            state.waiting[id] = Waiter(cursor: cursor, continuation: continuation)
            return nil
          }
          if let now { continuation.resume(with: now) }
        }
      } onCancel: {
        state.withLock { $0.waiting.removeValue(forKey: id) }?.continuation.resume(throwing: CancellationError())
      }
    }

    // MARK: What iCloud asks for

    /// iCloud has asked for a pause.
    func notePause(_ error: CloudKitError, at now: CloudKitMailbox.Instant) {
      guard let pause = error.retryAfter else { return }
      state.withLock { ($0.pausedUntil, $0.pause) = (now + pause, error) }
    }

    /// The error for a request that iCloud has asked not to be sent yet; nil if it may be.
    func pause(at now: CloudKitMailbox.Instant) -> CloudKitError? {
      state.withLock { state in
        guard let until = state.pausedUntil, let error = state.pause, now < until else {
          (state.pausedUntil, state.pause) = (nil, nil)
          return nil
        }
        return CloudKitError(
          error.code, error.message, retryAfter: until - now, cloudKitCode: error.cloudKitCode)
      }
    }

    /// Whether a content goes along with a listing: a pass keeps so much of one.
    func sendsAlong(_ byteCount: Int) -> Bool {
      state.withLock { state in
        guard state.sentAlong + byteCount <= CloudKitMailbox.bytesAlong else { return false }
        state.sentAlong += byteCount
        return true
      }
    }

    /// A listing begins or ends.
    func resetSentAlong() { state.withLock { $0.sentAlong = 0 } }
  }
#endif
