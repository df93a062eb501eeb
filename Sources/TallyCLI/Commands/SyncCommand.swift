import ArgumentParser
import Tally

struct SyncCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync",
    abstract: "Brings two stores to the same state.",
    discussion: """
      Prints what each took. The exit code is 75 if somebody wrote meanwhile, so that they are not equal yet, and 65 if \
      their contents contradict each other and could not be repaired.

      Example: tally sync scores.tally /media/stick/scores.tally
      """)

  @Argument(help: "One store's file.") var first: String
  @Argument(help: "The other store's file.") var second: String
  @OptionGroup var waiting: WaitingOptions

  func run() throws {
    try OpenStore.writing(first, waiting.timeout) { one in
      try OpenStore.writing(second, waiting.timeout) { two in
        let report = try synchronize(one, two)
        try Output.run { output in
          try output.line("\(first) took \(Self.text(report.first))")
          try output.line("\(second) took \(Self.text(report.second))")
          if report.repaired { try output.line("contents differed although the vectors were equal; both were joined") }
          if report.isConverged { try output.line("converged, \(report.byteCount) bytes exchanged") }
        }
        guard !report.isConverged else { return }
        let isEqual = try one.vector == two.vector
        throw isEqual
          ? Failure(.badData, "the two stores still differ") : Failure(.busy, "somebody wrote meanwhile; sync again")
      }
    }
  }

  private static func text(_ result: ApplyResult) -> String {
    "\(count(result.changes, "change")), \(count(result.conflicts, "conflict"))"
  }
}
