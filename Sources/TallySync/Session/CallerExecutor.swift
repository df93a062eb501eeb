import Dispatch
import Synchronization

/// Runs the steps of one task in the thread that wants its result. For tasks that never wait for anything that needs
/// another of Swift's threads: a pass over a set of files never waits at all.
final class CallerExecutor: TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])
  private let available = DispatchSemaphore(value: 0)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
    available.signal()
  }

  /// Runs the body to its end, in the calling thread.
  static func run<T: Sendable>(_ body: @escaping @Sendable () async throws -> T) throws -> T {
    let executor = CallerExecutor()
    let outcome = Outcome<T>()
    Task(executorPreference: executor) {
      let result: Result<T, any Error>
      do { result = .success(try await body()) } catch { result = .failure(error) }
      outcome.result.withLock { $0 = result }
    }
    while true {
      executor.available.wait()
      executor.jobs.withLock { $0.removeFirst() }.runSynchronously(on: executor.asUnownedTaskExecutor())
      if let result = outcome.result.withLock({ $0 }) { return try result.get() }
    }
  }

  private final class Outcome<T: Sendable>: Sendable {
    let result = Mutex<Result<T, any Error>?>(nil)
  }
}
