import ArgumentParser
import Tally

struct SyncCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync",
    abstract: "Brings two stores to the same state, or one through a shared folder.",
    discussion: """
      With a second store, prints what each took. The exit code is 75 if somebody wrote meanwhile, so that they are not equal yet, and 65 if \
      their contents contradict each other and could not be repaired.

      With --via folder:PATH, takes in what others have put into the folder and puts what it lacks; the others do the \
      same when they come by. Files that have not arrived yet are listed as pending and taken the next time. The exit code \
      is 66 if the folder is not there, and 65 or 78 if it holds something that cannot be read.

      Examples: tally sync scores.tally /media/stick/scores.tally
                tally sync scores.tally --via folder:/home/me/Dropbox/scores
      """)

  @Argument(help: "One store's file.") var first: String
  @Argument(help: "The other store's file.") var second: String?
  @Option(help: ArgumentHelp("What to sync through instead: folder:PATH.", valueName: "place")) var via: String?
  @OptionGroup var waiting: WaitingOptions

  func validate() throws {
    guard (second == nil) != (via == nil) else { throw ValidationError("name a second store, or a place with --via") }
  }

  func run() throws {
    if let via { return try SyncThroughFolder(via).run(first, waiting) }
    guard let second else { return }
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
