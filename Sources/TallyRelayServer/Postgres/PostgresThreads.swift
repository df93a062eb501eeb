#if Postgres
  import Dispatch
  import Foundation
  import Synchronization
  import TallyRelayProtocol

  /// Threads of their own for what blocks, each with a session that is made when it is first needed and again when it
  /// broke. Swift's pool never waits for PostgreSQL.
  final class PostgresThreads: Sendable {
    /// The maximum number of jobs that wait for a thread. Beyond that the client is asked to come back.
    private static let waitingLimit = 10_000
    /// The time for which closing waits for what is running.
    private static let closing = DispatchTimeInterval.seconds(10)

    private struct Job: Sendable {
      let run: @Sendable (inout PostgresSession?) -> Void
      let fail: @Sendable (any Error) -> Void
    }

    private struct State {
      var waiting: [Job] = []
      var isClosed = false
      /// The number of threads that have a session.
      var sessions = 0
    }

    /// The state that the threads share; they outlive `PostgresThreads` by what they still do.
    private final class Queue: Sendable {
      let state = Mutex(State())
      /// Counts jobs, and the ends that were asked for.
      let signal = DispatchSemaphore(value: 0)
      let ended = DispatchSemaphore(value: 0)
    }

    private let queue = Queue()
    private let address: PostgresAddress
    private let count: Int
    private let prepare: @Sendable (PostgresSession) throws -> Void

    /// Starts the threads. `prepare` is run on each new session.
    init(
      _ address: PostgresAddress, count: Int,
      prepare: @escaping @Sendable (PostgresSession) throws -> Void = { _ in }
    ) {
      (self.address, self.count, self.prepare) = (address, count, prepare)
      for number in 1...count {
        let thread = Thread { [queue] in Self.work(queue) }
        thread.name = "tally-postgres-\(number)"
        thread.start()
      }
    }

    deinit { end() }

    private static func work(_ queue: Queue) {
      var session: PostgresSession?
      while true {
        queue.signal.wait()
        let job = queue.state.withLock { state in state.waiting.isEmpty ? nil : state.waiting.removeFirst() }
        // There is none for each signal if what waited has failed with another.
        if let job {
          job.run(&session)
        } else if queue.state.withLock({ $0.isClosed }) {
          break
        }
      }
      queue.ended.signal()
    }

    /// Runs the body on one of the threads. If the session turns out to be broken, and nothing was committed, it is run
    /// once more on a new one.
    func run<T: Sendable>(_ body: @escaping @Sendable (PostgresSession) throws -> T) async throws -> T {
      try await withCheckedThrowingContinuation { continuation in
        run(body) { continuation.resume(with: $0) }
      }
    }

    /// The same, for whoever does not wait. `onEnd` is called with the outcome, on that thread, or at once if there is
    /// no room.
    func run<T: Sendable>(
      _ body: @escaping @Sendable (PostgresSession) throws -> T,
      onEnd: @escaping @Sendable (Result<T, any Error>) -> Void
    ) {
      add(
        Job { [self] session in
          onEnd(Result { try use(&session, body) })
        } fail: {
          onEnd(.failure($0))
        })
    }

    /// Runs the body on one of the threads some time, and tells of its failure.
    func post(
      _ body: @escaping @Sendable (PostgresSession) throws -> Void, onFailure: @escaping @Sendable () -> Void
    ) {
      add(
        Job { [self] session in
          do { try use(&session, body) } catch { onFailure() }
        } fail: { _ in
          onFailure()
        })
    }

    private func add(_ job: Job) {
      let refusal = queue.state.withLock { state -> RelayProblem? in
        if state.isClosed { return RelayProblem(.busy, "the relay is about to end", retryAfter: 2) }
        guard state.waiting.count < Self.waitingLimit else {
          return RelayProblem(.busy, "the relay has too much to do", retryAfter: 1)
        }
        state.waiting.append(job)
        return nil
      }
      if let refusal { job.fail(refusal) } else { queue.signal.signal() }
    }

    private func use<T>(_ session: inout PostgresSession?, _ body: (PostgresSession) throws -> T) throws -> T {
      let hadSession = session != nil
      do {
        return try body(try current(&session))
      } catch let error as PostgresError where error.isDisconnected {
        drop(&session)
        guard hadSession, error.mayRepeat else { throw error }
      }
      do {
        return try body(try current(&session))
      } catch let error as PostgresError where error.isDisconnected {
        drop(&session)
        throw error
      }
    }

    private func current(_ session: inout PostgresSession?) throws -> PostgresSession {
      if let session { return session }
      do {
        let new = try PostgresSession(address)
        try prepare(new)
        session = new
        queue.state.withLock { $0.sessions += 1 }
        return new
      } catch {
        failWaiting(error)
        throw error
      }
    }

    private func drop(_ session: inout PostgresSession?) {
      guard session != nil else { return }
      session = nil
      queue.state.withLock { $0.sessions -= 1 }
    }

    /// When no thread has a session and none can be had, nobody need wait to hear the same.
    private func failWaiting(_ error: any Error) {
      let waiting = queue.state.withLock { state -> [Job] in
        guard state.sessions == 0 else { return [] }
        defer { state.waiting = [] }
        return state.waiting
      }
      for job in waiting { job.fail(error) }
    }

    /// - Returns: whether nobody has asked for the end before.
    @discardableResult
    private func end() -> Bool {
      let isFirst = queue.state.withLock { state in
        defer { state.isClosed = true }
        return !state.isClosed
      }
      if isFirst { for _ in 0..<count { queue.signal.signal() } }
      return isFirst
    }

    /// Lets what waits be done, ends the threads, and waits for that; not for ever if the server does not answer.
    func close() {
      guard end() else { return }
      let limit = DispatchTime.now() + Self.closing
      for _ in 0..<count where queue.ended.wait(timeout: limit) == .timedOut { return }
    }
  }
#endif
