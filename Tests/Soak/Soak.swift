import ArgumentParser
import Foundation
import Synchronization
import TallyRig
import TestEffort

extension SimulationTier: ExpressibleByArgument {}

/// Simulated histories beside the tests: for as long as somebody likes, and with planted faults.
@main struct Soak: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Plays simulated histories, and looks whether planted faults are noticed.",
    subcommands: [Play.self, Planted.self], defaultSubcommand: Play.self)
}

/// Does something with each element, as many at a time as there are processors, in threads that may block.
func inParallel<Element: Sendable>(_ all: [Element], jobs: Int, _ body: @escaping @Sendable (Element) -> Void) {
  let rest = Mutex(all[...])
  DispatchQueue.concurrentPerform(iterations: max(1, jobs)) { _ in
    while let next = rest.withLock({ $0.popFirst() }) { body(next) }
  }
}

/// Prints at once what a reader of a pipe should see at once, too.
func say(_ line: String) {
  print(line)
  fflush(nil)
}

extension Soak {
  /// Plays seeds, and prints how many.
  struct Play: ParsableCommand {
    @Option(
      help: "What to simulate: \(SimulationTier.allCases.map(\.rawValue).joined(separator: ", ")). All without it.")
    var tier: [SimulationTier] = SimulationTier.allCases
    @Option(help: "How many seconds in all, which the tiers share; 60 where no count is given either.")
    var seconds: Double?
    @Option(help: "How many seeds of each tier at most, or of one: --count 20 --count core=2000.")
    var count: [SeedCount] = []
    @Option(help: "The first seed.")
    var first: UInt64 = 1
    @Option(help: "How many at a time.")
    var jobs = ProcessInfo.processInfo.activeProcessorCount

    func run() throws {
      if let seed = Effort.seed {
        let reports = tier.map { ($0, $0.report(seed)) }
        for (tier, report) in reports { say("\(tier.rawValue) \(seed): \(report ?? "passes")") }
        if reports.contains(where: { $0.1 != nil }) { throw ExitCode.failure }
        return
      }
      let seconds = seconds ?? (count.isEmpty ? 60 : .infinity)
      var (passed, failed) = (0, 0)
      for tier in tier {
        let round = Round(tier, first: first, count: SeedCount.of(tier, in: count), seconds / Double(self.tier.count))
        round.play(jobs)
        let result = round.result
        passed += result.played - result.failed
        failed += result.failed
      }
      say("Seeds: \(passed) passed, \(failed) failed")
      if failed > 0 { throw ExitCode.failure }
    }
  }
}

/// How many seeds to play, of each tier or of one.
struct SeedCount: ExpressibleByArgument {
  var tier: SimulationTier?
  var count: UInt64

  init?(argument: String) {
    let parts = argument.split(separator: "=", omittingEmptySubsequences: false)
    guard let last = parts.last, let count = UInt64(last), parts.count <= 2 else { return nil }
    self.count = count
    guard parts.count == 2 else { return }
    guard let tier = SimulationTier(rawValue: String(parts[0])) else { return nil }
    self.tier = tier
  }

  /// What counts for a tier: its own number, else that of all.
  static func of(_ tier: SimulationTier, in all: [SeedCount]) -> UInt64 {
    (all.last { $0.tier == tier } ?? all.last { $0.tier == nil })?.count ?? .max
  }
}

/// The seeds of one tier, in order, until there are enough of them, time is over or ten have failed.
final class Round: Sendable {
  private struct State {
    var next: UInt64
    var played = 0
    var failed = 0
    var lastReport = ContinuousClock.now
  }

  private let tier: SimulationTier
  private let first: UInt64
  private let count: UInt64
  private let start = ContinuousClock.now
  private let seconds: Double
  private let state: Mutex<State>

  init(_ tier: SimulationTier, first: UInt64, count: UInt64, _ seconds: Double) {
    (self.tier, self.first, self.count, self.seconds) = (tier, first, count, seconds)
    state = Mutex(State(next: first))
  }

  var result: (played: Int, failed: Int) { state.withLock { ($0.played, $0.failed) } }

  func play(_ jobs: Int) {
    DispatchQueue.concurrentPerform(iterations: max(1, jobs)) { _ in
      while let seed = next() { note(seed, tier.failure(seed)) }
    }
    report()
  }

  private var elapsed: Double { Double((ContinuousClock.now - start) / .milliseconds(1)) / 1000 }

  private func next() -> UInt64? {
    let isTimeOver = elapsed >= seconds
    return state.withLock { state in
      guard !isTimeOver, state.failed < 10, state.next - first < count else { return nil }
      defer { state.next += 1 }
      return state.next
    }
  }

  private func note(_ seed: UInt64, _ failure: String?) {
    if let failure {
      say(
        "TALLY_SEED=\(seed) of \(tier.rawValue)\n\(tier.report(seed) ?? "passes when played again; it was: \(failure)")"
      )
    }
    let isDue = state.withLock { state in
      state.played += 1
      state.failed += failure == nil ? 0 : 1
      guard ContinuousClock.now - state.lastReport > .seconds(60) else { return false }
      state.lastReport = .now
      return true
    }
    if isDue { report() }
  }

  private func report() {
    let (next, played, failed) = state.withLock { ($0.next, $0.played, $0.failed) }
    say(
      "\(tier.rawValue): seeds \(first) to \(max(first, next &- 1)), \(played) played, \(failed) failed, "
        + "\(String(format: "%.1f", Double(played) / max(0.001, elapsed))) a second")
  }
}
