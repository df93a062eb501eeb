#if Inspector
  import Foundation

  /// Work that computes for seconds, each piece on a thread of its own.
  ///
  /// `BlockingWork` has as many threads as there are cores, and tasks run on the same: two checks of a large store on a
  /// machine with two cores would leave none, neither to the other screens nor to the app that is inspected.
  package enum LongWork {
    /// Runs `body`, and waits for it without blocking the task's thread.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws.
    package static func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
      try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
      }
    }
  }
#endif
