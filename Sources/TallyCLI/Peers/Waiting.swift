import Dispatch
import Foundation
import Synchronization

/// Lets a command that is not asynchronous wait for something that is.
enum Waiting {
  /// Runs the body until it ends. SIGINT and SIGTERM cancel it, so that stores and connections close in order, which
  /// may take so many seconds; a second one ends the tool at once.
  static func run<T: Sendable>(
    within seconds: Double = Ending.patience, _ body: @escaping @Sendable () async throws -> T
  ) throws -> T {
    let result = Mutex<Result<T, any Error>?>(nil)
    let ended = DispatchSemaphore(value: 0)
    let task = Task.detached {
      let value: Result<T, any Error>
      do {
        value = .success(try await body())
      } catch {
        value = .failure(error)
      }
      result.withLock { $0 = value }
      ended.signal()
    }
    Ending.whileCancellable(within: seconds) {
      task.cancel()
    } _: {
      ended.wait()
    }
    guard let result = result.withLock({ $0 }) else { throw CancellationError() }
    // What was cut short by a signal ends with its code; what ends in order when asked to, with what it has to say.
    if case .failure = result, let number = Ending.signal { Ending.now(number) }
    return try result.get()
  }
}
