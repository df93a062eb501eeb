import ArgumentParser
import Foundation
import Tally
import TallyImport
import TallyStore

struct ImportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Puts records from a file of JSON lines, or from another SQLite database.",
    discussion: """
      Each line is {"name":…,"fields":{…},"links":{relationship:[…]}}; fields and links may be missing. Dates are ISO 8601, \
      or {"text":…} where one is stored in another form, UUIDs text, blobs {"blob":"<hex>"}, references names; a json field takes any JSON, or a string that holds JSON text.
      Links are added to those that are there.

      Records are put in transactions of --batch lines. A reference or link may name a record of a later line: what is not \
      there yet is put at the end. At a bad line the import stops with exit code 65; the message says how many lines before \
      it are committed. A record whose reference or link no line fills is there without it. Importing the file again changes nothing in what is there already.

      With --from the rows of another SQLite database become records, as the map says; the other file is only read. The \
      import stops at the first row that cannot be mapped, with exit code 65, and goes on from there when it is called \
      again. Rows of tables that nothing in the map takes, and that its "leavesOut" does not name, are counted at the end, \
      with exit code 65. --draft prints a map that was made by comparing names, to complete by hand. Blobs, and files that \
      the other database names by their paths, become the files of asset fields.

      Examples:
        tally import scores.tally games.jsonl
        tally import scores.tally --from old.sqlite --draft > map.json
        tally import scores.tally --from old.sqlite --map map.json
      """)

  private static let mapBytes = 16 << 20

  @OptionGroup var store: StoreArguments
  @Argument(help: "The file of JSON lines, or - for standard input.") var file: String?
  @Option(help: "Another SQLite database to import.") var from: String?
  @Option(help: "The map of the other database's tables: JSON.") var map: String?
  @Flag(help: "Print a map of the other database's tables to begin with.") var draft = false
  @Option(help: "How many lines or rows are one transaction.") var batch = 1000
  @OptionGroup var progress: ProgressOptions

  func validate() throws {
    guard batch > 0 else { throw ValidationError("--batch is not positive") }
    guard (file == nil) != (from == nil) else { throw ValidationError("give either a file of JSON lines or --from") }
    guard from != nil || (map == nil && !draft) else { throw ValidationError("--map and --draft belong to --from") }
    guard from == nil || (map != nil) != draft else { throw ValidationError("--from needs --map, or --draft") }
  }

  func run() throws {
    if let from { return try draft ? printDraft(from) : importDatabase(from) }
    let file = try InputFile(file ?? "-")
    try store.writing(isDurable: false) { store in
      let importer = try Importer(
        store: store, schema: try store.schema, batchSize: batch, progress: Progress("importing", progress))
      try importer.run(file)
      try Output.run { try $0.line("imported \(count(importer.committed, "line"))") }
      if importer.unusual > 0 {
        complain(
          "\(count(importer.unusual, "line")) with a UUID in capital letters in the name, which was kept: apps write it in "
            + "small letters, and that is another record")
      }
    }
  }

  private func importDatabase(_ from: String) throws {
    let map = try ImportMap(json: Data(try InputFile(map ?? "-").readAll(limit: Self.mapBytes)))
    try requireReadable(from)
    try store.writing(isDurable: false) { store in
      let progress = Progress("importing", progress)
      let report = try store.importDatabase(at: URL(fileURLWithPath: from), map: map, batchSize: batch) { step in
        progress.show(
          Double(step.rows) / Double(max(step.rowCount, 1)), of: "importing \(printable(step.table))",
          "\(count(step.rows, "row")), \(progress.rate(step.rows)) a second")
      }
      progress.end()
      try Output.run { try say(report, $0) }
      // What came in stays; but the old file has more, and the caller must not miss it.
      guard report.leftOut.isEmpty else {
        throw Failure(
          .badData,
          "nothing in the map takes \(Self.list(report.leftOut)); map them, or name in \"leavesOut\" what is to stay behind"
        )
      }
    }
  }

  private func say(_ report: ImportReport, _ output: Output) throws {
    if report.wasDone {
      try output.line("nothing to do: this import was done before")
    } else {
      for (type, number) in report.records.sorted(by: { $0.key < $1.key }) { try output.line("\(type): \(number)") }
      try output.line(
        "imported \(count(report.records.values.reduce(0, +), "record")), \(count(report.links, "link"))")
    }
    if report.known > 0 { try output.line("\(count(report.known, "row")) known already, left as they are") }
    if report.missing > 0 { try output.line("\(count(report.missing, "reference")) without a target left out") }
    if report.excluded > 0 { try output.line("\(count(report.excluded, "row")) left out by conditions of the map") }
  }

  private static func list(_ leftOut: [String: Int]) -> String {
    leftOut.sorted { $0.key < $1.key }.map { "\(count($0.value, "row")) of \($0.key)" }.joined(separator: ", ")
  }

  private func printDraft(_ from: String) throws {
    try requireReadable(from)
    let schema = try store.reading { try $0.schema }
    let draft = try ImportMap.draft(of: URL(fileURLWithPath: from), for: schema)
    try Output.run { try $0.line(String(decoding: try draft.map.json(), as: UTF8.self)) }
    for name in draft.unmatched { complain("nothing found for \(name)") }
    for name in draft.unused { complain("no field takes \(name)") }
    for table in draft.map.tables {
      for (name, column) in table.fields.sorted(by: { $0.key < $1.key }) {
        if column.form == .coreDataBlob {
          complain(
            "the values for \(table.to).\(name) look as Core Data's external storage does, whose first byte is left out; "
              + "write {\"sql\": …} in the map to take them as they stand")
        } else if column.form == .path {
          complain(
            "the values for \(table.to).\(name) look like paths of files; name in the map's \"folder\" what they are "
              + "relative to")
        }
      }
    }
    if !draft.leftOut.isEmpty { complain("nothing in the map takes \(Self.list(draft.leftOut))") }
  }

  /// Nothing opens the file but SQLite: a pipe would be waited for.
  private func requireReadable(_ path: String) throws {
    if access(path, R_OK) != 0 { throw Failure(errno: errno, .read, path) }
  }
}
