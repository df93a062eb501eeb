import Synchronization

/// Tells how far a session is: what its messages say, and what the store's work says between them.
///
/// The work tells while the store is busy, so before its end is told of. What is told of from two threads at once may
/// come in either order.
final class SessionTeller: Sendable {
  private struct State {
    var session = SyncSession.Progress()
    var work: TransferProgress?
    var rate = TransferRate()
  }
  private let state = Mutex(State())
  private let time: any SyncTime
  private let sink: (@Sendable (SyncSession.Progress) -> Void)?

  init(_ time: any SyncTime, _ sink: (@Sendable (SyncSession.Progress) -> Void)?) {
    (self.time, self.sink) = (time, sink)
  }

  /// The session has taken a step.
  func follow(_ session: SyncSession.Progress) {
    change { state in
      state.session = session
      switch state.work?.stage {
      case .preparing where session.isPreparing, .applying where session.isApplying: break
      default: state.work = nil
      }
    }
  }

  /// The store has gone on.
  func follow(_ work: TransferProgress) { change { $0.work = work } }

  private func change(_ body: (inout State) -> Void) {
    guard let sink else { return }
    let now = time.now
    let progress = state.withLock { state in
      body(&state)
      var progress = state.session
      progress.transfer = state.rate.timing(progress.stage(state.work), at: now)
      return progress
    }
    sink(progress)
  }
}

extension SyncSession.Progress {
  /// The stage that is under way, if any is, with what the store's work says of it.
  fileprivate func stage(_ work: TransferProgress?) -> TransferProgress? {
    if isApplying { return work ?? TransferProgress(.applying, 0, of: receiveTotal) }
    if receiveTotal > 0 { return TransferProgress(.receiving, receiveDone, of: receiveTotal) }
    if sendTotal > 0 { return TransferProgress(.sending, sendAcknowledged, of: sendTotal) }
    if isPreparing { return work ?? TransferProgress(.preparing) }
    return phase == .syncing && missing > 0 ? TransferProgress(.waiting) : nil
  }
}
