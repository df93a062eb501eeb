import Dispatch

/// Runs the steps of one task on a queue of its own, so that what blocks in them (a store, a file system) blocks none
/// of the few threads that Swift's tasks share. While the task waits for the network, the queue has no thread.
final class QueueExecutor: TaskExecutor {
  private let queue = DispatchQueue(label: "tally.mailbox")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
