import ArgumentParser
import Foundation
import Synchronization
import TallyRig

/// A part of a list, as `3/8`: every eighth element from the third on.
struct Part: ExpressibleByArgument {
  var number: Int
  var parts: Int

  init?(argument: String) {
    let words = argument.split(separator: "/", omittingEmptySubsequences: false)
    guard words.count == 2, let number = Int(words[0]), let parts = Int(words[1]), parts > 0,
      (1...parts).contains(number)
    else { return nil }
    (self.number, self.parts) = (number, parts)
  }

  func of<Element>(_ all: [Element]) -> [Element] {
    all.enumerated().filter { $0.offset % parts == number - 1 }.map(\.element)
  }
}

extension Soak {
  /// Puts in each fault, and looks whether each of its tiers notices it: `Docs/PlantedFaults.md`.
  struct Planted: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Puts in each planted fault, and looks whether its tiers notice it.",
      discussion: """
        Begins with the seed that is known to notice it. That seed must pass without the fault. Where it no longer \
        notices the fault, the seeds are tried from the first on.
        """)

    @Option(help: "Of the tiers only these.")
    var tier: [SimulationTier] = SimulationTier.allCases
    @Option(help: "Of the faults only these.")
    var fault: [String] = []
    @Option(help: "Of the faults and tiers only a part, as 3/8.")
    var part: Part?
    @Flag(help: "From the first seed on, for the table of Docs/PlantedFaults.md: make planted.")
    var renew = false
    @Option(help: "How many at a time.")
    var jobs = ProcessInfo.processInfo.activeProcessorCount

    /// A fault and a tier that is to notice it.
    private struct Case: Sendable {
      var bug: PlantedBug
      var tier: SimulationTier
      var name: String { "\(bug.name) \(tier.rawValue)" }
      var hint: UInt64? { PlantedHints.seeds[name] }
    }

    func run() throws {
      if let unknown = fault.first(where: { name in !PlantedBug.all.contains { $0.name == name } }) {
        throw ValidationError("there is no planted fault \(unknown)")
      }
      let bugs = PlantedBug.all.filter { fault.isEmpty || fault.contains($0.name) }
      let all = bugs.flatMap { bug in bug.tiers.filter(tier.contains).map { Case(bug: bug, tier: $0) } }
      let cases = part?.of(all) ?? all
      guard !cases.isEmpty else { throw ValidationError("no tier of this build is to notice any of these faults") }
      let found = Mutex<[String: UInt64]>([:])
      let failures = Mutex(0)
      let renew = renew
      inParallel(cases, jobs: jobs) { it in
        let (seed, note) = renew ? (it.bug.seedsNeeded(it.tier), nil) : Self.check(it)
        if let seed { found.withLock { $0[it.name] = seed } }
        if seed == nil { failures.withLock { $0 += 1 } }
        if !renew { say("\(it.name) \(seed.map(String.init) ?? "never")\(note.map { ": " + $0 } ?? "")") }
      }
      if renew {
        // The table has them in the order of the faults.
        for it in cases { say("\(it.name) \(found.withLock { $0[it.name] }.map(String.init) ?? "never")") }
      } else {
        let missed = failures.withLock { $0 }
        say("Faults: \(cases.count - missed) passed, \(missed) failed")
      }
      if failures.withLock({ $0 }) > 0 { throw ExitCode.failure }
    }

    /// The seed that notices a fault, nil if none does, and what there is to say of it.
    private static func check(_ it: Case) -> (seed: UInt64?, note: String?) {
      guard let hint = it.hint, it.tier.failure(hint, planted: it.bug.fault) != nil else {
        let known = it.hint.map { "seed \($0) no longer notices it" } ?? "no seed was known"
        return (it.bug.seedsNeeded(it.tier), "\(known); run make planted")
      }
      if let failure = it.tier.failure(hint) { return (nil, "TALLY_SEED=\(hint) fails without the fault\n\(failure)") }
      return (hint, nil)
    }
  }
}
