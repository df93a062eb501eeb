import Dispatch
import Foundation
import Synchronization

/// Runs tasks in a thread of its own, so that they go on while tests hold all threads of Swift's pool.
final class ThreadExecutor: TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])
  private let isStopped = Atomic(false)
  private let available = DispatchSemaphore(value: 0)

  /// Starts the thread, which runs until `stop()`.
  init() {
    Thread { [self] in
      while true {
        available.wait()
        guard let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else {
          if isStopped.load(ordering: .acquiring) { return }
          continue
        }
        job.runSynchronously(on: asUnownedTaskExecutor())
      }
    }.start()
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
    available.signal()
  }

  /// Ends the thread as soon as nothing is left to run.
  func stop() {
    isStopped.store(true, ordering: .releasing)
    available.signal()
  }
}
