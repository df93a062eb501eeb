import Dispatch

/// Runs the steps of one task, and of its children, on a queue of its own, so that what blocks in them (a store, a file
/// system) blocks none of the few threads that Swift's tasks share, and that one child goes on after another without
/// waking a thread. While all of them wait for the network, the queue has no thread.
final class QueueExecutor: TaskExecutor {
  private let queue: DispatchQueue

  init(_ label: String) { queue = DispatchQueue(label: label) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
