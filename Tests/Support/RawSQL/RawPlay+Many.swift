import Foundation
import Synchronization

/// Plays many histories, as many at a time as there are processors.
extension RawPlay {
  /// Plays on a thread of its own: while a history waits for a live session, the session needs the tasks' threads.
  static func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      Thread { continuation.resume(returning: body()) }.start()
    }
  }

  /// Plays the histories of these seeds.
  /// - Returns: the least seed of those that failed, if any, and how many histories have reached each situation.
  package static func played(
    _ seeds: [UInt64], _ choice: RawChoice
  ) async -> (failed: UInt64?, reached: [RawSituation: Int]) {
    let round = RawRound(seeds)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<ProcessInfo.processInfo.activeProcessorCount {
        group.addTask {
          while let seed = round.next() {
            let (failure, reached) = await onThread { play(.generate(seed: seed, choice: choice)) }
            round.note(seed, didFail: failure != nil, reached)
          }
        }
      }
    }
    return round.result
  }
}

/// Which seeds are still to be played, and what the others have shown.
private final class RawRound: Sendable {
  private struct State {
    var rest: ArraySlice<UInt64>
    var failed: UInt64?
    var reached: [RawSituation: Int] = [:]
  }

  private let state: Mutex<State>

  init(_ seeds: [UInt64]) { state = Mutex(State(rest: seeds[...])) }

  func next() -> UInt64? { state.withLock { $0.rest.popFirst() } }

  func note(_ seed: UInt64, didFail: Bool, _ reached: Set<RawSituation>) {
    state.withLock { state in
      if didFail { state.failed = min(seed, state.failed ?? seed) }
      for situation in reached { state.reached[situation, default: 0] += 1 }
    }
  }

  var result: (failed: UInt64?, reached: [RawSituation: Int]) { state.withLock { ($0.failed, $0.reached) } }
}
