import ArgumentParser
import Tally
import TallyRecovery
import TallyStore

struct RecoverCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recover",
    abstract: "Makes a new store of whatever can be read in a damaged one.",
    discussion: """
      The damaged file stays as it is. Prints what could not be read, a line each, and how much could; the exit code is 65 if \
      something is lost. What was read keeps who wrote it and when; what was not comes again with the next sync, if another device has \
      it, and where another device holds something else, that counts.

      Example: tally recover scores.tally -o rescued.tally
      """)

  @Argument(help: "The damaged store's file. Nobody may be using it.") var store: String
  @Option(name: .shortAndLong, help: ArgumentHelp("The store to make; there must be none yet.", valueName: "file"))
  var output: String
  @OptionGroup var progress: ProgressOptions
  @Option(help: ArgumentHelp("The schema, if that in the file cannot be read.", valueName: "file")) var schema: String?

  func run() throws {
    try Output.requireOpen(besides: store)
    let schema = try schema.map { try NewCommand.schema($0) }
    var report = RecoveryReport()
    let bar = Progress("recovering", progress)
    defer { bar.end() }
    bar.show(nil, "copying the file")
    try NewStore(output).create { path in
      report = try Store.recover(store, to: path, schema: schema) { bar.show(nil, "\($0) records and links read") }
    }
    bar.end()
    try Output.run { output in
      for loss in report.losses { try output.line(brief("lost: \(loss)")) }
      try output.line("recovered \(report.recovered) records and links")
    }
    guard report.lossCount == 0 else {
      throw Failure(.badData, "\(count(report.lossCount, "part")) of \(store) could not be read")
    }
  }
}
