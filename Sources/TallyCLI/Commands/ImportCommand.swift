import ArgumentParser
import Tally

struct ImportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Puts records from a file of JSON lines.",
    discussion: """
      Each line is {"name":…,"fields":{…},"links":{relationship:[…]}}; fields and links may be missing. Dates are ISO 8601, \
      UUIDs text, blobs {"blob":"<hex>"}, references names; a json field takes any JSON, or a string that holds JSON text.
      Links are added to those that are there.

      Records are put in transactions of --batch lines. A reference or link may name a record of a later line: what is not \
      there yet is put at the end. At a bad line the import stops with exit code 65; the message says how many lines before \
      it are committed. A record whose reference or link no line fills is there without it. Importing the file again changes nothing in what is there already.

      Example: tally import scores.tally games.jsonl
      """)

  @OptionGroup var store: StoreArguments
  @Argument(help: "The file, or - for standard input.") var file: String
  @Option(help: "How many lines are one transaction.") var batch = 1000
  @OptionGroup var progress: ProgressOptions

  func validate() throws {
    guard batch > 0 else { throw ValidationError("--batch is not positive") }
  }

  func run() throws {
    let file = try InputFile(file)
    try store.writing(isDurable: false) { store in
      let importer = try Importer(
        store: store, schema: try store.schema, batchSize: batch, progress: Progress("importing", progress))
      try importer.run(file)
      try Output.run { try $0.line("imported \(count(importer.committed, "line"))") }
    }
  }
}
