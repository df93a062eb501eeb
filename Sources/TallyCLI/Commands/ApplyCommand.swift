import ArgumentParser
import Tally

struct ApplyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apply",
    abstract: "Joins a delta into the store: all of it or nothing.",
    discussion: """
      A second time it changes nothing. The exit code is 65 if the bytes are damaged, or if the delta starts after what \
      the store has.

      Example: tally apply b.tally news.delta
      """)

  @OptionGroup var store: StoreArguments
  @Argument(help: "The delta, or - for standard input.") var file: String
  @Flag(help: "Join cells even where the vector says that they are here. Needs a delta of everything.") var repair =
    false
  @OptionGroup var progress: ProgressOptions

  func run() throws {
    let file = try InputFile(file)
    try store.writing { store in
      let bar = Progress("applying", progress)
      defer { bar.end() }
      let result = try store.apply(
        from: {
          bar.show(file.fractionRead, "\(SyncProgress.size(UInt64(file.bytesRead))) read")
          return try file.read()
        }, isRepair: repair)
      bar.end()
      try Output.run {
        try $0.line("applied \(count(result.changes, "change")), \(count(result.conflicts, "conflict"))")
      }
      if result.fingerprintMismatch {
        throw Failure(
          .badData,
          "the sender's vector is equal but its content is not; sync the two, or apply a full delta with --repair")
      }
    }
  }
}

/// "1 change", "2 changes".
func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
