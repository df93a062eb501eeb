import ArgumentParser
import Foundation
import Synchronization
import Tally

/// Whether to tell how far a command is where there is no terminal.
struct ProgressOptions: ParsableArguments {
  @Flag(help: "Tell how far it is also where standard error is no terminal: a line a second.") var progress = false
}

/// The progress of a command: a line on the terminal that changes, `verifying [####....] 41%, 12000 checked`.
/// Elsewhere nothing, or plain lines now and then if they were asked for.
final class Progress: Sendable {
  private static let barWidth = 30
  private static let narrowest = 5
  /// The interval between reports, in nanoseconds: one that a person can follow, and one that a log can bear.
  private static let (onTerminal, elsewhere): (UInt64, UInt64) = (100_000_000, 1_000_000_000)
  private struct State {
    var what = "", fraction: Double?, details = "", left = ""
    /// When it became so, and when it was last shown; 0 while nothing is.
    var (change, look): (UInt64, UInt64) = (0, 0)
  }
  private let what: String
  let isShown: Bool
  private let start = Progress.now
  private let state = Mutex(State())
  /// Shows how long nothing has changed, so that a person sees that it goes on. Sources may be used on any thread.
  nonisolated(unsafe) private let clock: (any DispatchSourceTimer)?

  /// A progress under the name `what`. If `isQuiet`, what the command has to say flows over the same terminal.
  init(_ what: String, _ options: ProgressOptions, isQuiet: Bool = false) {
    self.what = what
    isShown = Terminal.isThere && !isQuiet || options.progress
    clock = isShown ? DispatchSource.makeTimerSource(queue: .global()) : nil
    clock?.schedule(deadline: .now() + .seconds(1), repeating: .milliseconds(200))
    clock?.setEventHandler { [weak self] in self?.tick() }
    clock?.resume()
  }

  deinit { clock?.cancel() }

  private static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

  /// Shows how far it is, unless that was shown a moment ago. If `isNews`, a person would miss something if it were
  /// left out. `left` is the time that is left, which does not outlast a standstill.
  func show(
    _ fraction: Double?, of what: String? = nil, isNews: Bool = false, left: String = "",
    _ details: @autoclosure () -> String
  ) {
    guard isShown else { return }
    let now = Self.now
    state.withLock { state in
      let isDue = state.look == 0 || now - state.look >= (Terminal.isThere ? Self.onTerminal : Self.elsewhere)
      let before = (state.what, state.fraction, state.details)
      (state.what, state.fraction, state.details, state.left) = (what ?? self.what, fraction, details(), left)
      // A step that shows nothing new is no change to whoever watches.
      if state.change == 0 || before != (state.what, state.fraction, state.details) { state.change = now }
      guard isDue || isNews && Terminal.isThere else { return }
      Self.show(&state, at: now)
    }
  }

  private func tick() {
    let now = Self.now
    state.withLock { state in
      guard state.look > 0, now - state.look >= Self.elsewhere else { return }
      Self.show(&state, at: now)
    }
  }

  private static func show(_ state: inout State, at now: UInt64) {
    state.look = now
    let seconds = (now - state.change) / 1_000_000_000
    // What stands still says nothing of the time that is left.
    let end = seconds > 0 ? "for \(seconds) s" : state.left
    let details = [state.details, end].filter { !$0.isEmpty }.joined(separator: ", ")
    let line = line(state.what, state.fraction, details, width: Terminal.isThere ? Terminal.width : .max)
    if Terminal.isThere { Terminal.show(bar: line) } else { Terminal.say(line + "\n") }
  }

  /// Returns the number of items per second.
  func rate(_ count: Int) -> Int {
    let elapsed = Double(Self.now - start) / 1e9
    return Int(Double(count) / max(elapsed, 0.001))
  }

  /// Clears the line, until there is something to show again.
  func end() {
    guard isShown else { return }
    state.withLock { state in
      state.look = 0
      Terminal.show(bar: nil)
    }
  }

  /// One line that fits: the bar becomes shorter, then goes, and then the end is cut. A terminal goes to the next line
  /// when its last column is written, so that one stays free.
  static func line(_ what: String, _ fraction: Double?, _ details: String, width: Int) -> String {
    let limit = max(width - 1, 0)
    guard let fraction else { return String("\(what), \(details)".prefix(limit)) }
    let part = min(max(fraction, 0), 1)
    let tail = " \(Int(100 * part))%, \(details)"
    let room = min(barWidth, limit - what.count - tail.count - 3)
    guard room >= narrowest else { return String((what + tail).prefix(limit)) }
    let filled = Int(Double(room) * part)
    return "\(what) [\(String(repeating: "#", count: filled))\(String(repeating: ".", count: room - filled))]\(tail)"
  }
}

/// The progress of writing out records, a line or row each.
final class LineProgress {
  private let progress: Progress
  private let total: Int
  private var done = 0

  init(_ what: String, _ options: ProgressOptions, _ store: Store, isQuiet: Bool) throws {
    progress = Progress(what, options, isQuiet: isQuiet)
    total = progress.isShown ? try store.itemCount() : 0
  }

  func step() {
    done += 1
    // Looking at the clock costs more than a line.
    guard done & 0xFF == 1 else { return }
    progress.show(Double(done) / Double(max(total, 1)), "\(done) of \(total)")
  }

  func end() { progress.end() }
}

extension Store {
  /// Returns the number of records and links, visible and hidden.
  func itemCount() throws -> Int { try status().counts.reduce(0) { $0 + $1.visible + $1.hidden } }
}
