import Synchronization

/// Runs tasks one step at a time, and only when told to: between two steps everything stands still. A step is what a
/// task does until it waits for something.
///
/// Give it to a task as its preference. All that the task and its children do runs here then, actors' methods included,
/// as long as the actors have no executor of their own and no code starts a detached task.
package final class StepExecutor: TaskExecutor {
  private let ready = Mutex<[UnownedJob]>([])

  package init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    ready.withLock { $0.append(job) }
  }

  /// The number of steps that could be next.
  package var count: Int { ready.withLock { $0.count } }

  /// Makes one of them, in the calling thread: 0 is the one that has waited longest.
  package func run(_ index: Int = 0) {
    let job = ready.withLock { $0.remove(at: index) }
    job.runSynchronously(on: asUnownedTaskExecutor())
  }
}
