import Dispatch

/// Runs what blocks (a lock of SQLite's, a disk, a pass over all rows) for a task, on a thread that is none of the few
/// that Swift's tasks share.
///
/// A task that is cancelled before its work begins throws `CancellationError`; work that has begun comes to its end.
package enum BlockingWork {
  private static let queue = DispatchQueue(label: "tally.blocking", attributes: .concurrent)

  package static func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try Task.checkCancellation()
    return try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try body() }) }
    }
  }
}
