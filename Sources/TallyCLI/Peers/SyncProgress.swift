import Foundation
import Synchronization
import Tally

/// How syncs with one peer or several stand: a line on the terminal that changes, or a plain line now and then where
/// standard error goes somewhere else.
final class SyncProgress: Sendable {
  private struct State {
    var next = 0
    /// The peers that are connected.
    var peers: [Int: SyncSession.Progress] = [:]
    var last = DispatchTime.now().uptimeNanoseconds
    var isShown = false
  }
  private static let width = 30
  /// How often, in nanoseconds: what a person can follow, and what a log can bear.
  private static let (onTerminal, elsewhere): (UInt64, UInt64) = (100_000_000, 10_000_000_000)
  private static let clear = "\r\u{1B}[K"
  private let isTerminal = isatty(STDERR_FILENO) == 1
  private let state = Mutex(State())

  /// A number for another peer.
  func peer() -> Int {
    state.withLock { state in
      defer { state.next += 1 }
      return state.next
    }
  }

  func show(_ progress: SyncSession.Progress, of peer: Int = 0) {
    state.withLock { state in
      let before = state.peers[peer]
      // A bar that appears is news, too: a short transfer may be over before the next look.
      let isNews = before?.phase != progress.phase || (before?.fraction == nil) != (progress.fraction == nil)
      state.peers[peer] = progress
      let now = DispatchTime.now().uptimeNanoseconds
      guard isTerminal ? isNews || now - state.last >= Self.onTerminal : now - state.last >= Self.elsewhere else {
        return
      }
      state.last = now
      draw(&state)
    }
  }

  func leave(_ peer: Int) {
    state.withLock { state in
      state.peers[peer] = nil
      if state.isShown { draw(&state) }
    }
  }

  private func draw(_ state: inout State) {
    let line = Self.line(Array(state.peers.values))
    state.isShown = isTerminal
    showOnTerminal(isTerminal ? Self.clear + line : line + "\n")
  }

  /// Lets something else be printed, and shows the line again.
  func interrupted<T>(_ body: () throws -> T) rethrows -> T {
    try state.withLock { state in
      guard state.isShown else { return try body() }
      showOnTerminal(Self.clear)
      defer { draw(&state) }
      return try body()
    }
  }

  /// Clears the line.
  func end() {
    state.withLock { state in
      if state.isShown { showOnTerminal(Self.clear) }
      state.isShown = false
    }
  }

  // MARK: In words

  /// `syncing [####....] 41%, 12 MB sent, 3 kB received`; with several peers how many of them do what, and the sums.
  static func line(_ peers: [SyncSession.Progress]) -> String {
    guard peers.count > 1 else { return peers.first.map(line) ?? "no peers" }
    let syncing = peers.count { $0.phase == .connecting || $0.phase == .syncing }
    let sum = peers.dropFirst().reduce(into: peers[0]) { sum, peer in
      sum.sendTotal += peer.sendTotal
      sum.sendAcknowledged += peer.sendAcknowledged
      sum.receiveTotal += peer.receiveTotal
      sum.receiveDone += peer.receiveDone
      sum.bytesSent += peer.bytesSent
      sum.bytesReceived += peer.bytesReceived
    }
    return "\(peers.count) peers, \(syncing) syncing\(bar(sum)), \(bytes(sum))"
  }

  static func line(_ progress: SyncSession.Progress) -> String {
    switch progress.phase {
    case .connecting: return "connecting"
    case .finished: return "done"
    case .live:
      let waiting = progress.pending == 0 ? "up to date" : "\(progress.pending) to send"
      return "live, \(waiting)\(bar(progress)), \(bytes(progress))"
    case .syncing: return "syncing\(bar(progress)), \(bytes(progress))"
    }
  }

  private static func bytes(_ progress: SyncSession.Progress) -> String {
    "\(size(progress.bytesSent)) sent, \(size(progress.bytesReceived)) received"
  }

  private static func bar(_ progress: SyncSession.Progress) -> String {
    guard let fraction = progress.fraction else { return "" }
    let filled = Int(Double(width) * min(max(fraction, 0), 1))
    return " [\(String(repeating: "#", count: filled))\(String(repeating: ".", count: width - filled))]"
      + " \(Int(100 * min(max(fraction, 0), 1)))%"
  }

  private static func size(_ count: UInt64) -> String {
    count < 10_000 ? "\(count) B" : count < 10_000_000 ? "\(count / 1000) kB" : "\(count / 1_000_000) MB"
  }
}

/// Whether a peer has been reached.
final class Reached: Sendable {
  private let flag = Atomic(false)
  var isTrue: Bool { flag.load(ordering: .relaxed) }
  func note() { flag.store(true, ordering: .relaxed) }
}
