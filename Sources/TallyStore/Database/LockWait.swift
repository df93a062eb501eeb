import Foundation
import GRDB

/// The way in which a connection waits for the lock of another.
///
/// SQLite's own busy handler asks again after a tenth of a second once it has waited for a quarter of one
/// (`sqliteDefaultBusyCallback` in its main.c). Next to a process that writes one transaction after the other, the
/// lock is free for moments only, and fifty looks in five seconds may miss them all. This one looks again after at
/// most twenty milliseconds, at random: several that wait do not meet at the same moment each time.
enum LockWait {
  private static let longest: UInt32 = 20
  private static let (startKey, refusalKey) = ("tally.lock-wait.start", "tally.lock-wait.refusal")

  /// Returns SQLite's callback for a lock that another connection has. It waits for `timeout` seconds in all, with 0
  /// not at all, and tells `turns` of every wait.
  static func callback(atMost timeout: TimeInterval, _ turns: Turns?) -> Database.BusyCallback {
    { count in
      // A wait is one thread's: nothing else runs on it before the wait is over.
      let memory = Thread.current.threadDictionary
      guard timeout > 0, memory[refusalKey] == nil else { return false }
      let now = DispatchTime.now().uptimeNanoseconds
      let start = count == 0 ? now : memory[startKey] as? UInt64 ?? now
      memory[startKey] = start
      turns?.waited()
      let rest = timeout - Double(now - start) / 1e9
      guard rest > 0 else { return false }
      let most = min(longest, 1 + 2 * UInt32(clamping: count))
      let pause = UInt32.random(in: 500...1000 * most)
      usleep(min(pause, UInt32(clamping: Int(rest * 1e6)) + 1))
      return true
    }
  }

  /// Runs something that does not wait for a lock on this thread.
  @discardableResult
  static func without<T>(_ body: () throws -> T) rethrows -> T {
    let memory = Thread.current.threadDictionary
    memory[refusalKey] = true
    defer { memory[refusalKey] = nil }
    return try body()
  }
}
