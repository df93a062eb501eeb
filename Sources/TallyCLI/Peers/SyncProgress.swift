import Foundation
import Synchronization
import Tally

/// One line on the terminal that tells how a sync stands; nothing if standard error is none.
final class SyncProgress: Sendable {
  private struct State {
    var last: UInt64 = 0
    var isShown = false
  }
  private static let width = 30
  private static let interval: UInt64 = 100_000_000
  private let isTerminal = isatty(STDERR_FILENO) == 1
  private let state = Mutex(State())

  func show(_ progress: SyncSession.Progress) {
    guard isTerminal else { return }
    let now = DispatchTime.now().uptimeNanoseconds
    state.withLock { state in
      guard now - state.last >= Self.interval || progress.phase == .live else { return }
      (state.last, state.isShown) = (now, true)
      showOnTerminal("\r\u{1B}[K\(Self.line(progress))")
    }
  }

  static func line(_ progress: SyncSession.Progress) -> String {
    switch progress.phase {
    case .connecting: return "connecting"
    case .finished: return "done"
    case .live:
      let waiting = progress.pending == 0 ? "up to date" : "\(progress.pending) to send"
      return "live, \(waiting), \(size(progress.bytesSent)) sent, \(size(progress.bytesReceived)) received"
    case .syncing: break
    }
    var bar = ""
    if progress.sendTotal > 0 {
      let filled = Int(UInt64(width) * min(progress.sendAcknowledged, progress.sendTotal) / progress.sendTotal)
      bar = "[\(String(repeating: "#", count: filled))\(String(repeating: ".", count: width - filled))] "
    }
    return "\(bar)\(size(progress.bytesSent)) sent, \(size(progress.bytesReceived)) received"
  }

  private static func size(_ count: UInt64) -> String {
    count < 10_000 ? "\(count) B" : count < 10_000_000 ? "\(count / 1000) kB" : "\(count / 1_000_000) MB"
  }

  /// Clears the line.
  func end() {
    state.withLock { state in
      if state.isShown { showOnTerminal("\r\u{1B}[K") }
      state.isShown = false
    }
  }
}

/// Whether a peer has been reached.
final class Reached: Sendable {
  private let flag = Atomic(false)
  var isTrue: Bool { flag.load(ordering: .relaxed) }
  func note() { flag.store(true, ordering: .relaxed) }
}
