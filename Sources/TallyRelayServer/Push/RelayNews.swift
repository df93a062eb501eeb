#if Relay
  import Synchronization

  /// Lets requests wait for news of a space, which this process appends or the storage tells of.
  ///
  /// Who waits takes a ticket, looks whether there is something already, and waits with the ticket: what comes in
  /// between ends the wait at once.
  final class RelayNews: Sendable {
    /// Why a wait has ended.
    enum End: Sendable {
      /// There may be something new.
      case news
      /// The time is over, or the task was cancelled.
      case timeout
      /// The relay is about to end, or whoever waits has gone.
      case closing
    }

    /// The number of announcements of a space when the ticket was taken.
    struct Ticket: Sendable, Hashable {
      let space: Int64
      fileprivate let count: UInt64
    }

    private struct State {
      var isClosing = false
      var next = 0
      /// The number of times that each space was announced.
      var announced: [Int64: UInt64] = [:]
      var waiting: [Int64: [Int: CheckedContinuation<End, Never>]] = [:]
      var count = 0
      /// The seats of those who have gone.
      var ended: Set<Int> = []
    }

    private let state = Mutex(State())
    private let sleep: @Sendable (Duration) async throws -> Void

    init(sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }) {
      self.sleep = sleep
    }

    /// The spaces that somebody waits for.
    var watched: [Int64] { state.withLock { Array($0.waiting.keys) } }
    /// The number of those who wait.
    var count: Int { state.withLock { $0.count } }
    /// Whether the relay is about to end.
    var isClosing: Bool { state.withLock { $0.isClosing } }

    /// To be taken before looking whether there is something already.
    func ticket(for space: Int64) -> Ticket {
      state.withLock { Ticket(space: space, count: $0.announced[space] ?? 0) }
    }

    /// Waits for what is announced after a ticket was taken.
    func wait(_ ticket: Ticket, upTo limit: Duration) async throws -> End {
      try await withThrowingTaskGroup(of: End.self) { [sleep] group in
        group.addTask { await self.next(ticket) }
        group.addTask {
          try await sleep(limit)
          return .timeout
        }
        defer { group.cancelAll() }
        let end = try await group.next() ?? .timeout
        try Task.checkCancellation()
        return end
      }
    }

    /// A place for somebody who waits, perhaps again and again.
    func seat() -> Int {
      state.withLock { state in
        defer { state.next += 1 }
        return state.next
      }
    }

    private func next(_ ticket: Ticket) async -> End { await wait(ticket, at: seat()) }

    /// Waits for what is announced after a ticket was taken, until the task is cancelled or somebody wakes the seat.
    func wait(_ ticket: Ticket, at id: Int) async -> End {
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let end = state.withLock { state -> End? in
            if state.isClosing || state.ended.contains(id) { return .closing }
            if state.announced[ticket.space] ?? 0 != ticket.count { return .news }
            if Task.isCancelled { return .timeout }
            state.waiting[ticket.space, default: [:]][id] = continuation
            state.count += 1
            return nil
          }
          if let end { continuation.resume(returning: end) }
        }
      } onCancel: {
        wake(id, in: ticket.space)
      }
    }

    /// Ends a wait as if its time were over. Whoever does not wait is not woken later.
    func wake(_ id: Int, in space: Int64) { take(space, id)?.resume(returning: .timeout) }

    /// Ends a wait, and every later one at that seat, until the seat is left.
    func end(_ id: Int, in space: Int64) {
      state.withLock { _ = $0.ended.insert(id) }
      take(space, id)?.resume(returning: .closing)
    }

    /// Nobody waits at that seat any more.
    func leave(_ id: Int) { state.withLock { _ = $0.ended.remove(id) } }

    private func take(_ space: Int64, _ id: Int) -> CheckedContinuation<End, Never>? {
      state.withLock { state in
        guard let continuation = state.waiting[space]?.removeValue(forKey: id) else { return nil }
        state.count -= 1
        if state.waiting[space]?.isEmpty == true { state.waiting[space] = nil }
        return continuation
      }
    }

    /// Ends all waits for a space.
    func announce(_ space: Int64) {
      let waiting = state.withLock { state in
        state.announced[space, default: 0] += 1
        let waiting = state.waiting.removeValue(forKey: space) ?? [:]
        state.count -= waiting.count
        return waiting
      }
      for continuation in waiting.values { continuation.resume(returning: .news) }
    }

    /// Ends all waits, and every later one at once.
    func close() {
      let waiting = state.withLock { state in
        defer { (state.waiting, state.count, state.isClosing) = ([:], 0, true) }
        return state.waiting.values.flatMap(\.values)
      }
      for continuation in waiting { continuation.resume(returning: .closing) }
    }
  }
#endif
