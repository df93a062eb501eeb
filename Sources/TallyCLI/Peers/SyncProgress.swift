import Synchronization
import Tally
import TallySync

/// The progress of syncs with one peer or several.
final class SyncProgress: Sendable {
  private struct State {
    var next = 0
    /// The peers that are connected.
    var peers: [Int: SyncSession.Progress] = [:]
  }
  private let progress: Progress
  private let state = Mutex(State())

  init(_ options: ProgressOptions) { progress = Progress("syncing", options) }

  /// A number for another peer.
  func peer() -> Int {
    state.withLock { state in
      defer { state.next += 1 }
      return state.next
    }
  }

  func show(_ step: SyncSession.Progress, of peer: Int = 0) {
    state.withLock { state in
      let before = state.peers[peer]
      state.peers[peer] = step
      // A bar that appears is news, too: a short transfer may be over before the next look.
      draw(state, isNews: before?.phase != step.phase || before?.transfer?.stage != step.transfer?.stage)
    }
  }

  func leave(_ peer: Int) {
    state.withLock { state in
      state.peers[peer] = nil
      draw(state, isNews: true)
    }
  }

  private func draw(_ state: State, isNews: Bool) {
    let peers = Array(state.peers.values)
    let (what, fraction, details) = Self.words(peers)
    progress.show(
      fraction, of: what, isNews: isNews, left: peers.count == 1 ? peers[0].transfer?.left ?? "" : "", details)
  }

  /// Clears the line.
  func end() { progress.end() }

  // MARK: In words

  /// With several peers how many of them do what, and the sums.
  static func words(_ peers: [SyncSession.Progress]) -> (what: String, fraction: Double?, details: String) {
    guard peers.count > 1 else { return peers.first.map(words) ?? ("listening", nil, "no peers") }
    let syncing = peers.count { $0.phase == .connecting || $0.phase == .syncing }
    let work = peers.reduce((done: UInt64(0), total: UInt64(0))) { ($0.done + $1.work.done, $0.total + $1.work.total) }
    let sum = peers.dropFirst().reduce(into: peers[0]) { sum, peer in
      sum.bytesSent += peer.bytesSent
      sum.bytesReceived += peer.bytesReceived
    }
    let fraction = work.total == 0 ? nil : min(1, Double(work.done) / Double(work.total))
    return ("\(peers.count) peers, \(syncing) syncing", fraction, bytes(sum))
  }

  private static func words(_ step: SyncSession.Progress) -> (what: String, fraction: Double?, details: String) {
    switch step.phase {
    case .connecting: return ("connecting", nil, bytes(step))
    case .finished: return ("done", nil, bytes(step))
    case .live:
      return ("live, \(step.pending == 0 ? "up to date" : "\(step.pending) to send")", step.fraction, bytes(step))
    case .syncing:
      guard let transfer = step.transfer else { return ("syncing", nil, bytes(step)) }
      let details = transfer.details.isEmpty ? bytes(step) : transfer.details
      return ("syncing: \(transfer.words)", transfer.fraction, details)
    }
  }

  private static func bytes(_ step: SyncSession.Progress) -> String {
    "\(size(step.bytesSent)) sent, \(size(step.bytesReceived)) received"
  }

  static func size(_ count: UInt64) -> String {
    count < 10_000 ? "\(count) B" : count < 10_000_000 ? "\(count / 1000) kB" : "\(count / 1_000_000) MB"
  }
}

/// Whether a peer has been reached.
final class Reached: Sendable {
  private let flag = Atomic(false)
  var isTrue: Bool { flag.load(ordering: .relaxed) }
  func note() { flag.store(true, ordering: .relaxed) }
}
