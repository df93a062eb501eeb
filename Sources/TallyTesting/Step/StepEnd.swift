import Synchronization
import TallySync

/// One side of a sync as it ships, `SyncRunner` and all, each of whose steps waits to be made.
package final class StepEnd {
  package let connection: StepConnection
  package let executor = StepExecutor()
  package let queue = StepQueue()
  private let task: Task<Void, Never>
  private let report: Report

  private final class Report: Sendable {
    struct State {
      var progress = SyncSession().progress
      var result: Result<SyncOutcome, any Error>?
    }
    let state = Mutex(State())
  }

  /// A side that has not begun. The session gets what `wrap` returns in the place of the connection.
  package init(
    _ work: any SyncWork, _ time: StepTime, _ connection: StepConnection, _ settings: SyncSettings,
    wrap: (StepConnection) -> any SyncConnection = { $0 }
  ) {
    let report = Report()
    var settings = settings
    let onProgress = settings.onProgress
    settings.onProgress = { progress in
      report.state.withLock { $0.progress = progress }
      onProgress?(progress)
    }
    let runner = SyncRunner(work, on: queue, time, wrap(connection), settings)
    self.connection = connection
    self.report = report
    task = Task(executorPreference: executor) {
      let result: Result<SyncOutcome, any Error>
      do { result = .success(try await runner.run()) } catch { result = .failure(error) }
      report.state.withLock { $0.result = result }
    }
  }

  /// The progress of the session.
  package var progress: SyncSession.Progress { report.state.withLock { $0.progress } }
  /// The result of the session; nil while it has not ended.
  package var result: Result<SyncOutcome, any Error>? { report.state.withLock { $0.result } }
  /// Whether it has ended.
  package var isOver: Bool { result != nil }
  /// Whether there is nothing to do before something arrives or time passes.
  package var isIdle: Bool { executor.count == 0 && queue.isEmpty }

  /// Cancels the task that syncs.
  package func cancel() { task.cancel() }

  /// Does all that can be done here; what is sent stays on its way.
  package func work() {
    while !isIdle {
      if executor.count > 0 { executor.run() } else { queue.run() }
    }
  }
}

/// Two sides and what is on its way between them.
package struct StepLink {
  package let one: StepEnd
  package let other: StepEnd
  package let time: StepTime

  package init(_ one: StepEnd, _ other: StepEnd, _ time: StepTime) {
    (self.one, self.other, self.time) = (one, other, time)
  }

  /// Something that can happen next.
  package enum Step: Equatable {
    /// A task of a side goes on.
    case task(first: Bool, Int)
    /// A side's store does what it was asked for.
    case job(first: Bool)
    /// A message of a side arrives at the other, or the news that it has closed.
    case delivery(first: Bool)
  }

  /// The steps that can happen next, except that time passes.
  package var steps: [Step] {
    var steps: [Step] = []
    for (end, isFirst) in [(one, true), (other, false)] {
      steps += (0..<end.executor.count).map { .task(first: isFirst, $0) }
      if !end.queue.isEmpty { steps.append(.job(first: isFirst)) }
      if end.connection.hasNews { steps.append(.delivery(first: isFirst)) }
    }
    return steps
  }

  package func make(_ step: Step) {
    switch step {
    case .task(let isFirst, let index): (isFirst ? one : other).executor.run(index)
    case .job(let isFirst): (isFirst ? one : other).queue.run()
    case .delivery(let isFirst):
      let (from, to) = isFirst ? (one, other) : (other, one)
      from.connection.deliver(to: to.connection)
    }
  }

  /// Breaks the connection: what is on its way is lost.
  package func cut() {
    one.connection.cut()
    other.connection.cut()
  }
}
