import ArgumentParser
import GRDB
import Tally

struct GetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Prints a record.",
    discussion: """
      The name comes first, then each field as tally put takes it, then the members of each relationship. The exit code \
      is 66 if the record is not there.

      Example: tally get scores.tally 'SBGame|~|chess' --json
      """)

  @OptionGroup var store: StoreArguments
  @Argument(help: "The record's name.") var name: String
  @Flag(help: "Print one line of JSON, as an import reads it.") var json = false

  func run() throws {
    let name = try recordName(name)
    try store.reading(evenUncaptured: true) { store in
      let name = try store.meant(name)
      let schema = try store.schema
      let entity = try schema.entity(of: name)
      guard let record = try store.read({ try schema.record($0, name) }) else {
        throw StoreError(.noSuchRecord, "no record named \(name)")
      }
      try Output.run { output in
        let lines = try json ? [record.json(entity).text] : record.lines(entity).map(printable)
        for line in lines { try output.line(line) }
      }
    }
  }
}

struct ListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Prints the names of all records of a type, sorted.",
    discussion: "Example: tally list scores.tally SBGame --json")

  @OptionGroup var store: StoreArguments
  @Argument(help: "The type.") var type: String
  @Flag(help: "Print the whole records, one line of JSON each.") var json = false

  func run() throws {
    try store.reading(evenUncaptured: true) { store in
      let schema = try store.schema
      let entity = try schema.entity(type: type)
      try Output.run { output in
        try store.read { db in
          let names = try String.fetchCursor(db, sql: "SELECT id FROM \"\(entity.type)\" ORDER BY id")
          while let text = try names.next() {
            guard json else {
              // Another program may have written a row under an invalid name.
              try output.line(brief(text))
              continue
            }
            guard let record = try schema.record(db, recordName(text)) else { continue }
            try output.line(record.json(entity).text)
          }
        }
      }
    }
  }
}
