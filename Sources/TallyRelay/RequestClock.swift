import Synchronization

/// Ends a request of which nothing comes any more, or so little that it would hold up its caller for hours.
///
/// A request ends when nothing has come or gone for its idle timeout, and when it has taken longer than its idle
/// timeout and a second for each KiB that has come or gone. The first ends a server that falls silent, the second one
/// that sends a byte now and then. A relay holds its clients to the same pace.
final class RequestClock: Sendable {
  /// The number of bytes that must come and go in a second, in the long run.
  static let bytesPerSecond = 1 << 10

  private struct Progress {
    var bytes = 0
    var latest: Duration
  }

  private let time: @Sendable () -> Duration
  private let idleTimeout: Duration
  private let hasPace: Bool
  private let start: Duration
  private let progress: Mutex<Progress>

  /// A clock that starts now. With `hasPace`, bytes must also come at a pace; a stream of events has none, and may say
  /// as little as it likes.
  init(_ time: @escaping @Sendable () -> Duration, idleTimeout: Duration, hasPace: Bool) {
    (self.time, self.idleTimeout, self.hasPace) = (time, idleTimeout, hasPace)
    start = time()
    progress = Mutex(Progress(latest: start))
  }

  /// Notes that bytes have come or gone.
  func note(_ count: Int) {
    let now = time()
    progress.withLock { progress in
      progress.bytes += count
      progress.latest = now
    }
  }

  /// Runs a request, until its time is over.
  func run<Value: Sendable>(_ request: @escaping @Sendable () async throws -> Value) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
      group.addTask(operation: request)
      group.addTask { throw try await self.end() }
      defer { group.cancelAll() }
      // Whichever is first ends the other.
      guard let value = try await group.next() else { throw CancellationError() }
      return value
    }
  }

  /// Returns when the time is over.
  private func end() async throws -> RelayTransportError {
    while true {
      let (silence, pace) = limits
      let left = min(silence, pace) - time()
      guard left > .zero else { return silence <= pace ? .timedOut : .tooSlow }
      try await Task.sleep(for: left)
    }
  }

  /// When the request ends if nothing comes until then.
  private var limits: (silence: Duration, pace: Duration) {
    let progress = progress.withLock { $0 }
    let silence = progress.latest + idleTimeout
    guard hasPace else { return (silence, .seconds(Int64.max)) }
    return (silence, start + idleTimeout + .seconds(progress.bytes) / Self.bytesPerSecond)
  }
}
