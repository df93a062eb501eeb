import ArgumentParser
import Foundation
import Logging

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
      NewCommand.self, PutCommand.self, GetCommand.self, DeleteCommand.self, RestoreCommand.self,
      DeletedCommand.self, PurgeCommand.self, CompactCommand.self, LinkCommand.self,
      UnlinkCommand.self, ListCommand.self, ImportCommand.self, ExportCommand.self, DumpCommand.self,
      VerifyCommand.self,
      StatusCommand.self,
      DeltaCommand.self, ApplyCommand.self, SyncCommand.self, ServeCommand.self, RelayCommand.self, WhyCommand.self,
      VectorCommand.self,
      ConflictsCommand.self, DiffCommand.self, TimelineCommand.self, ReportCommand.self, InspectCommand.self,
      SchemaCommand.self, RecoverCommand.self, SeedCommand.self, SeedsCommand.self, ShellCommand.self,
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
    do {
      return try TallyTool.parseAsRoot()
    } catch {
      endParsing(error)
    }
  }

  /// Help and the version go to standard output; everything else is a mistake in the command line.
  private static func endParsing(_ error: any Error) -> Never {
    guard TallyTool.exitCode(for: error).isSuccess else {
      fail(.usage, TallyTool.message(for: error) + (suggestion.map { "; did you mean '\($0)'?" } ?? ""))
    }
    print(TallyTool.fullMessage(for: error))
    exit(0)
  }

  /// The command that a misspelt one is nearest to.
  private static var suggestion: String? {
    guard CommandLine.arguments.count > 1 else { return nil }
    let word = CommandLine.arguments[1]
    let names = TallyTool.configuration.subcommands.compactMap { $0.configuration.commandName }
    guard !word.hasPrefix("-"), !names.contains(word) else { return nil }
    let nearest = names.map { ($0, distance($0, word)) }.min { ($0.1, $0.0) < ($1.1, $1.0) }
    return nearest.flatMap { $0.1 <= 2 ? $0.0 : nil }
  }

  /// Returns the number of letters to change, add, remove or swap with the next (Damerau and Levenshtein).
  private static func distance(_ one: String, _ other: String) -> Int {
    let (a, b) = (Array(one), Array(other))
    guard !a.isEmpty, !b.isEmpty else { return max(a.count, b.count) }
    var rows = [Array(0...b.count)]
    for i in 1...a.count {
      var row = [i]
      for j in 1...b.count {
        var cost = min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
        if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { cost = min(cost, rows[i - 2][j - 2] + 1) }
        row.append(cost)
      }
      rows.append(row)
    }
    return rows[a.count][b.count]
  }

  private static func fail(_ status: ExitStatus, _ message: String) -> Never {
    complain(message)
    exit(status.rawValue)
  }
}
