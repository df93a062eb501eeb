import ArgumentParser
import Tally

struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Checks the store against itself.",
    discussion: """
      Prints "ok <n> checked", or one line for each problem with exit code 65.

      Example: tally verify scores.tally
      """)

  @OptionGroup var store: StoreArguments

  func run() throws {
    try store.reading { store in
      let report = try store.verify()
      try Output.run { output in
        if report.isSound { try output.line("ok \(report.checked) checked") }
        for problem in report.problems { try output.line(problem) }
      }
      if !report.isSound {
        let count = report.problems.count
        throw Failure(.badData, "\(count) \(count == 1 ? "problem" : "problems") found in \(report.checked) checked")
      }
    }
  }
}
