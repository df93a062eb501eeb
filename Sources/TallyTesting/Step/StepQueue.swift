import Synchronization
import TallySync

/// A queue whose jobs run one at a time, and only when told to.
package final class StepQueue: WorkQueue {
  private let waiting = Mutex<[@Sendable () -> Void]>([])

  package init() {}

  package func add(_ job: @escaping @Sendable () -> Void) { waiting.withLock { $0.append(job) } }

  package var isEmpty: Bool { waiting.withLock { $0.isEmpty } }

  /// Does the next job, in the calling thread.
  package func run() { waiting.withLock { $0.removeFirst() }() }
}
