import ArgumentParser
import GRDB
import Tally
import TallyCRDT

struct PutCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "put",
    abstract: "Inserts a record, or changes fields of one that is there.",
    discussion: """
      Values are written as the field's kind says: text as it is; true or false; a date in ISO 8601 (UTC unless it says \
      otherwise); a UUID; JSON; a blob as hexadecimal digits or base64:…; a reference as the target's name.
      field= is the empty text for a text field and null for any other.
      field=@FILE for an asset adds a copy of the file to the folder beside the store, and puts its name.
      field:=JSON gives the value as JSON, as an import does, so field:=null is null.
      Of a counter field=value says by how much it changes: by the difference to what it shows. --add and --set say it in \
      other words: --add score=1 adds, and --set score=0 sets, so that what others add meanwhile counts from there. Each \
      --set is a transaction of its own, and all --add together are the last; they are committed at once, or none is, and \
      the ACK names the last.

      Prints "ACK <name> <replica>:<sequence>" when the change is committed and on disk, and "ACK <name> -" if nothing \
      had to change because the values were equal. A UUID in capital letters is that of the record in small letters, as \
      apps write them, unless there is one in capitals.

      With - for the name, reads one record a line from standard input: either words as on the command line, in quotes \
      where they have spaces, or {"name":…,"fields":{…},"links":{…}}. Each line is a transaction with an ACK of its own.
      Such lines have no --add and no --set.
      A bad line is reported with its number and skipped, and the exit code is then 65. After a fault of the disk or \
      damage in the store nothing more is read.

      Examples:
        tally put scores.tally 'SBGame|~|chess' name=Chess rating=4.5 owner:=null
        tally put scores.tally 'SBMatch|~|final' --add goals=1
        tally put scores.tally - < games.txt
      """)

  @OptionGroup var store: StoreArguments
  @Argument(help: "The record's name, or - to read lines from standard input.") var name: String
  @Argument(help: ArgumentHelp("field=value or field:=JSON", valueName: "field=value")) var assignments: [String] = []
  @Option(
    name: .customLong("add"),
    help: ArgumentHelp("Adds to a counter; less than 0 takes away.", valueName: "counter=number"))
  var additions: [String] = []
  @Option(
    name: .customLong("set"),
    help: ArgumentHelp("Sets a counter, or what keeps the greatest or the least.", valueName: "field=number"))
  var settings: [String] = []
  @Flag(help: "Do not wait for the disk before each ACK. A power failure may then lose the last ones.") var relaxed =
    false

  func validate() throws {
    if name == "-", !(assignments + additions + settings).isEmpty {
      throw ValidationError("values come from standard input, not from the command line")
    }
    if let bad = assignments.first(where: { !$0.unicodeScalars.contains("=") }) {
      throw ValidationError("\(shown(bad)) is not an assignment; write field=value or field:=JSON")
    }
  }

  func run() throws {
    try store.writing(isDurable: !relaxed) { store in
      let schema = try store.schema
      let output = Output()
      if name == "-" {
        try PutLines(store: store, schema: schema, output: output).run()
      } else {
        let assignments = try store.addingFiles(assignments, of: name, schema)
        var record = try RecordInput(words: [name] + assignments, schema: schema)
        try record.count(additions, settings, schema)
        try output.put(record, schema, in: store)
      }
    }
  }
}

extension Output {
  /// Puts a record in a transaction of its own and acknowledges it.
  fileprivate func put(_ record: RecordInput, _ schema: Schema, in store: Store) throws {
    let record = try record.meant(in: store, schema)
    let commit = try store.commit { db in try record.put(db, schema) }
    try acknowledge(record.name, commit.dot)
  }

  /// The line that says that a transaction is committed.
  func acknowledge(_ name: AnyRecordName, _ dot: Dot?) throws {
    try acknowledge("ACK \(name) \(dot?.description ?? "-")")
  }
}

/// Puts line by line.
private struct PutLines {
  let store: Store
  let schema: Schema
  let output: Output

  func run() throws {
    var reader = LineReader(try InputFile("-"))
    var badLines = 0
    while let line = try reader.next() {
      guard !line.isBlank else { continue }
      do {
        try put(line)
      } catch {
        let place = error is DatabaseError ? "\(store.path): " : ""
        let failure = Failure(
          ExitStatus(of: error), "\(place)line \(line.number): \(Failure.message(of: error))")
        guard [.badData, .notFound].contains(failure.status), !Self.isOfTheStore(error) else { throw failure }
        complain(failure.message)
        badLines += 1
      }
    }
    if badLines > 0 { throw Failure(.badData, "\(badLines) bad \(badLines == 1 ? "line was" : "lines were") skipped") }
  }

  /// Whether it is the store that is damaged and not the line that is bad: then no other line can do better.
  private static func isOfTheStore(_ error: any Error) -> Bool {
    if let error = error as? StoreError { return error.code == .corrupt }
    let code = (error as? DatabaseError)?.resultCode
    return code == .SQLITE_CORRUPT || code == .SQLITE_NOTADB
  }

  private func words(_ text: String) throws -> [String] {
    let words = try ShellWords.split(text)
    return try words.prefix(1) + store.addingFiles(Array(words.dropFirst()), of: words.first ?? "", schema)
  }

  private func put(_ line: LineReader.Line) throws {
    let text = try line.text()
    let isJSON = text.drop(while: \.isWhitespace).first == "{"
    let record =
      isJSON
      ? try RecordInput(json: JSONParser.parse(line.bytes), schema: schema)
      : try RecordInput(words: words(text), schema: schema)
    try output.put(record, schema, in: store)
  }
}
