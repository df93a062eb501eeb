#if canImport(CloudKit)
  import Synchronization
  import TallySync

  /// The state of a mailbox in this process: cursors after which no entry is known to have come, waiting calls,
  /// the subscription, whether notifications arrive, and the time until which iCloud asks for no requests.
  final class CloudKitFollower: Sendable {
    private struct Waiter {
      var cursor: MailboxCursor?
      var continuation: CheckedContinuation<Void, any Error>
    }

    /// The state of the subscription at the server, as far as it is known.
    private enum Subscription {
      /// Nothing: it is to be saved.
      case wanted
      case there
      /// It could not be saved, so often in a row, and is tried again at this time.
      case missing(CloudKitError, failures: Int, next: CloudKitMailbox.Instant)
    }

    private struct State {
      /// Cursors after which nothing is known to have come, with the own entries that came since their token was given.
      var current: [MailboxCursor: Set<String>] = [:]
      var looked: CloudKitMailbox.Instant?
      var isNotified = false
      var subscription = Subscription.wanted
      var isChecked = false
      /// Grows with each notification and each change of the account, so that an answer that was on its way meanwhile
      /// counts for nothing.
      var generation = 0
      /// Grows with each change of the account.
      var accounts = 0
      var pausedUntil: CloudKitMailbox.Instant?
      var pause: CloudKitError?
      var sentAlong = 0
      /// The entries whose content others were asked for, and when.
      var asked: [String: CloudKitMailbox.Instant] = [:]
      var nextWaiter = 0
      var waiting: [Int: Waiter] = [:]

      var isSubscribed: Bool { if case .there = subscription { true } else { false } }

      mutating func takeWaiting(besides cursor: MailboxCursor? = nil) -> [CheckedContinuation<Void, any Error>] {
        let woken = waiting.filter { cursor == nil || $0.value.cursor != cursor }
        for id in woken.keys { waiting[id] = nil }
        return woken.values.map(\.continuation)
      }
    }

    private let state = Mutex(State())
    private static let mostCursors = 16

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

    // MARK: The subscription

    /// Whether the subscription is to be saved now.
    func wantsSubscription(at now: CloudKitMailbox.Instant) -> Bool {
      state.withLock { state in
        switch state.subscription {
        case .wanted: true
        case .there: false
        case .missing(_, _, let next): now >= next
        }
      }
    }

    /// Why there is no subscription, so that passes ask each time; nil if there is one, or none was wanted yet.
    var subscriptionError: CloudKitError? {
      state.withLock { state in
        if case .missing(let error, _, _) = state.subscription { error } else { nil }
      }
    }

    func noteSubscribed() { state.withLock { $0.subscription = .there } }

    /// The subscription could not be saved. The pause until the next try doubles, from a minute to an hour. Where it is
    /// for want of a zone, which only a person can end, there is no pause: passes end with that as well.
    func noteNotSubscribed(_ error: CloudKitError, at now: CloudKitMailbox.Instant) {
      state.withLock { state in
        var failures = 1
        if case .missing(_, let before, _) = state.subscription { failures = before + 1 }
        let isZoneGone = error.code == .zoneDeleted
        let pause = isZoneGone ? .zero : Duration.seconds(min(60 << min(failures - 1, 6), 3_600))
        state.subscription = .missing(error, failures: failures, next: now + max(pause, error.retryAfter ?? .zero))
      }
    }

    /// The subscription may have gone, with its zone.
    func doubtSubscription() { state.withLock { if $0.isSubscribed { $0.subscription = .wanted } } }

    // MARK: What is known of news

    /// Whether nothing has come after a cursor, as far as notifications tell, which arrive, and for not longer than
    /// silence is believed.
    func isCurrent(_ cursor: MailboxCursor, at now: CloudKitMailbox.Instant, believing silence: Duration) -> Bool {
      state.withLock { state in
        guard state.isNotified, state.isSubscribed, state.current[cursor] != nil, let looked = state.looked else {
          return false
        }
        return now - looked < silence
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
        state.looked = now
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
        if isAccount { (state.isChecked, state.subscription, state.accounts) = (false, .wanted, state.accounts + 1) }
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

    // MARK: Contents

    /// Those entries of which others have not been asked for the content within a day; they are taken for asked now.
    func beginAsking(for names: [String], at now: CloudKitMailbox.Instant) -> [String] {
      state.withLock { state in
        state.asked = state.asked.filter { now - $0.value < .seconds(86_400) }
        let rest = names.filter { state.asked[$0] == nil }
        for name in rest { state.asked[name] = now }
        return rest
      }
    }

    /// They were not asked after all.
    func endAsking(for names: [String]) { state.withLock { for name in names { $0.asked[name] = nil } } }

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
