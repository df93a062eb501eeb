import Foundation
import Synchronization

/// Leaves others their turn to write.
///
/// SQLite's lock has no queue: who waits looks now and then, and who writes again at once takes the lock before anybody
/// has looked. So a connection that had to wait for its transaction leaves a pause after it; the pause doubles with
/// each wait and halves where no writer stood in the way, so that however many write, the lock is free about half of
/// the time, and a program whose looks are a tenth of a second apart meets it free.
///
/// Who has the lock does not hear of those who wait for it. So who has written for half a second without a pause leaves
/// one that is longer than ``LockWait`` takes from look to look, waited for or not: between transactions alone, the
/// lock is free for a twentieth of the time, and on a busy machine hundreds of looks can miss it. Who writes now and
/// then never waits, and who writes alone for a twenty-fifth of the time.
final class Turns: Sendable {
  private struct State {
    /// Nanoseconds.
    var (pause, next): (UInt64, UInt64) = (0, 0)
    /// Whether this transaction had to wait, and the next so far.
    var (hasWaited, waits) = (false, false)
    /// When the last pause that others can meet ended, and the last transaction.
    var (stretch, last): (UInt64, UInt64) = (0, 0)
  }
  private static let (shortest, longest): (UInt64, UInt64) = (500_000, 50_000_000)
  /// How long one writes without a pause, and the pause then.
  private static let (stretch, gap): (UInt64, UInt64) = (500_000_000, 21_000_000)
  private let state = Mutex(State())

  /// The number of nanoseconds to wait before the next transaction.
  var rest: UInt64 { rest(at: Self.now) }

  func rest(at now: UInt64) -> UInt64 { state.withLock { $0.next > now ? $0.next - now : 0 } }

  private static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

  /// Waits for it on this thread.
  func wait() {
    let rest = rest
    if rest > 0 { usleep(UInt32(clamping: rest / 1000)) }
  }

  /// Notes that another connection holds the lock that the next transaction wants.
  func waited() { state.withLock { $0.waits = true } }

  /// Notes the beginning of a transaction.
  func begin() { begin(at: Self.now) }

  func begin(at now: UInt64) {
    state.withLock { state in
      (state.hasWaited, state.waits) = (state.waits, false)
      if state.hasWaited || now >= state.last + Self.gap { state.stretch = now }
    }
  }

  /// Notes its end.
  func end() { end(at: Self.now) }

  func end(at now: UInt64) {
    state.withLock { state in
      state.last = now
      if state.hasWaited || state.pause > 0 {
        state.pause = state.hasWaited ? min(max(2 * state.pause, Self.shortest), Self.longest) : state.pause / 2
        if state.pause < Self.shortest { state.pause = 0 }
        // At random, so that those who left a pause together do not come back together.
        let pause = state.pause == 0 ? 0 : UInt64.random(in: state.pause / 2...state.pause + state.pause / 2)
        state.next = now + pause
      }
      if now >= state.stretch + Self.stretch { state.next = max(state.next, now + Self.gap) }
    }
  }
}
