import ArgumentParser
import Tally

struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Checks the store against itself, or against a peer.",
    discussion: """
      Prints "ok <n> checked", or one line for each problem with exit code 65. With --against it compares what both have seen and \
      what both hold, and changes neither: "equal", or one line with exit code 65. A peer is named as for tally sync --via. \
      Rows that the database does not take because of an index, check, trigger or table of the app's are no problems; tally status \
      lists them.

      With --repair it first rebuilds what is derived from the states: change log, fingerprint, view. It prints one line for \
      each record of which something was lost.

      Examples:
        tally verify scores.tally
        tally verify scores.tally --against tcp://home.example:7400 --secret-file secret
      """)

  @OptionGroup var store: StoreArguments
  @Option(help: ArgumentHelp("Compare with a peer.", valueName: "PEER")) var against: String?
  @Flag(help: "Rebuild what is derived from the states, then check.") var repair = false
  @OptionGroup var security: SecurityOptions
  @OptionGroup var progress: ProgressOptions

  func validate() throws {
    if repair, against != nil { throw ValidationError("--repair and --against are for themselves") }
  }

  func run() throws {
    if repair {
      let report = try store.writing { try $0.rebuild() }
      try Output.run { output in
        for loss in report.losses { try output.line(brief("lost: \(loss)")) }
        guard report.hadOtherFingerprint else { return }
        try output.line(
          "what was stored did not fit its sum; it stays in doubt until another device has said what it holds")
      }
    }
    if let against { return try compare(with: against) }
    var isSound = true
    defer { if !isSound { OpenStore.noteDamage(store.store, store.waiting.timeout) } }
    try store.reading { store in
      let bar = Progress("verifying", progress)
      defer { bar.end() }
      let total = bar.isShown ? try store.itemCount() : 0
      let report = try store.verify { checked in
        let details = checked == 0 ? "SQLite's own checks" : "\(checked) checked"
        bar.show(Double(checked) / Double(max(total, 1)), details)
      }
      bar.end()
      isSound = report.isSound
      try Output.run { output in
        if report.isSound { try output.line("ok \(report.checked) checked") }
        for problem in report.problems { try output.line(brief(problem)) }
      }
      if !report.isSound {
        let count = report.problems.count
        throw Failure(.badData, "\(count) \(count == 1 ? "problem" : "problems") found in \(report.checked) checked")
      }
    }
  }
}
