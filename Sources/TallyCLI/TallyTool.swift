import ArgumentParser
import Foundation
import Logging
import TallyStore

/// The `tally` tool: a thin layer on the public library.
struct TallyTool: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tally",
    abstract: "Inspects, edits and syncs Tally stores.",
    discussion: """
      Examples:
        tally new scores.tally --schema schema.json
        tally put scores.tally 'SBGame|~|chess' name=Chess rating=4.5
        tally sync scores.tally /media/stick/scores.tally

      Exit codes: \(ExitStatus.table)

      Errors are one line on standard error and begin with "tally:". After an error the store is as it was, unless the \
      command's help says otherwise.
      """,
    version: "0.1.0",
    subcommands: [
      NewCommand.self, CloneCommand.self, PutCommand.self, GetCommand.self, DeleteCommand.self,
      RestoreCommand.self,
      DeletedCommand.self, PurgeCommand.self, CompactCommand.self, LinkCommand.self,
      UnlinkCommand.self, ListCommand.self, ImportCommand.self, ExportCommand.self, DumpCommand.self,
      VerifyCommand.self,
      StatusCommand.self,
      DeltaCommand.self, ApplyCommand.self, SyncCommand.self, ServeCommand.self, RelayCommand.self, WhyCommand.self,
      VectorCommand.self,
      ConflictsCommand.self, DiffCommand.self, TimelineCommand.self, ReportCommand.self, InspectCommand.self,
      SchemaCommand.self, AssetsCommand.self, RecoverCommand.self, SeedCommand.self, SeedsCommand.self,
      MergeCommand.self,
      ShellCommand.self,
    ] + hidden)

  #if Inspector
    private static let hidden: [any ParsableCommand.Type] = [QueryCommand.self]
  #else
    private static let hidden: [any ParsableCommand.Type] = []
  #endif

  func run() throws { throw Failure(.usage, "which command? See tally --help") }
}

@main
private enum Main {
  static func main() {
    // A reader that goes away shows as EPIPE where it can be handled.
    signal(SIGPIPE, SIG_IGN)
    StandardFiles.hold()
    Ending.install()
    LoggingSystem.bootstrap { _ in Warnings() }
    do {
      try StandardFiles.checkArguments()
      var command = try parse()
      try command.run()
    } catch is ReaderWentAway {
      exit(0)
    } catch {
      // A signal removes what is half done, and that makes what is under way fail.
      if let number = Ending.signal { Ending.now(number) }
      // Asking for help is a command as well.
      if TallyTool.exitCode(for: error) != .failure { endParsing(error) }
      fail(ExitStatus(of: error), Failure.message(of: error))
    }
  }

  private static func parse() throws -> any ParsableCommand {
    // The parser would give the help of the commands before it, and end as if that had been asked for.
    if let misspelt = Misspelling.command(in: Array(CommandLine.arguments.dropFirst())) {
      let hint = Spelling.hint(for: misspelt.word, among: misspelt.names)
      fail(.usage, "there is no command \(shown(misspelt.word))\(hint)")
    }
    do {
      return try TallyTool.parseAsRoot()
    } catch {
      endParsing(error)
    }
  }

  /// Help and the version go to standard output; everything else is a mistake in the command line.
  private static func endParsing(_ error: any Error) -> Never {
    guard TallyTool.exitCode(for: error).isSuccess else {
      fail(.usage, TallyTool.message(for: error))
    }
    print(HelpText.wrapped(TallyTool.fullMessage(for: error)))
    exit(0)
  }

  private static func fail(_ status: ExitStatus, _ message: String) -> Never {
    complain(message)
    exit(status.rawValue)
  }
}
