import Foundation
import Synchronization

/// Leaves others their turn to write.
///
/// SQLite's lock has no queue: who waits looks now and then, and who writes again at once takes the lock before anybody
/// has looked. So a connection that had to wait for its transaction leaves a pause after it; the pause doubles with
/// each wait and halves where no writer stood in the way, so that however many write, the lock is free about half of
/// the time, and a program whose looks are a tenth of a second apart meets it free. Who writes now and then, or alone,
/// never waits.
final class Turns: Sendable {
  private struct State {
    /// Nanoseconds.
    var (pause, next): (UInt64, UInt64) = (0, 0)
    /// Whether this transaction had to wait, and the next so far.
    var (hasWaited, waits) = (false, false)
  }
  private static let (shortest, longest): (UInt64, UInt64) = (500_000, 50_000_000)
  private let state = Mutex(State())

  /// The number of nanoseconds to wait before the next transaction.
  var rest: UInt64 {
    let now = DispatchTime.now().uptimeNanoseconds
    return state.withLock { $0.next > now ? $0.next - now : 0 }
  }

  /// Waits for it on this thread.
  func wait() {
    let rest = rest
    if rest > 0 { usleep(UInt32(clamping: rest / 1000)) }
  }

  /// Notes that another connection holds the lock that the next transaction wants.
  func waited() { state.withLock { $0.waits = true } }

  /// Notes the beginning of a transaction.
  func begin() { state.withLock { ($0.hasWaited, $0.waits) = ($0.waits, false) } }

  /// Notes its end.
  func end() {
    state.withLock { state in
      guard state.hasWaited || state.pause > 0 else { return }
      state.pause = state.hasWaited ? min(max(2 * state.pause, Self.shortest), Self.longest) : state.pause / 2
      if state.pause < Self.shortest { state.pause = 0 }
      // At random, so that those who left a pause together do not come back together.
      let pause = state.pause == 0 ? 0 : UInt64.random(in: state.pause / 2...state.pause + state.pause / 2)
      state.next = DispatchTime.now().uptimeNanoseconds + pause
    }
  }
}
