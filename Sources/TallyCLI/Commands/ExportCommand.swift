import ArgumentParser
import Foundation
import GRDB
import Tally
import TallyCRDT

struct ExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Writes what the app sees into a file that other programs read.",
    discussion: """
      As json, a record a line, which tally import reads. As csv, the records of one --type with a line of names first (RFC 4180); a null \
      is empty, a blob hexadecimal. As sqlite, a plain database: a table for each type and relationship, without anything of Tally's. \
      The file appears when it is complete, and takes the place of no store or database.

      Examples:
        tally export scores.tally --as json -o scores.jsonl
        tally export scores.tally --as csv --type SBGame -o games.csv
        tally export scores.tally --as sqlite -o scores.sqlite
      """)

  enum Form: String, ExpressibleByArgument, CaseIterable {
    case json, csv, sqlite
  }

  @OptionGroup var store: StoreArguments
  @Option(name: .customLong("as"), help: "json, csv or sqlite.") var form: Form
  @Option(help: "The type whose records go into a csv file.") var type: String?
  @Option(name: .shortAndLong, help: ArgumentHelp("The file to write, or - for standard output.", valueName: "file"))
  var output: String
  @OptionGroup var progress: ProgressOptions

  func validate() throws {
    guard (form == .csv) == (type != nil) else { throw ValidationError("--type goes with csv, and csv needs it") }
    guard form != .sqlite || output != "-" else { throw ValidationError("a database needs a file") }
  }

  func run() throws {
    let rules = NewFile.Rules(inputs: [store.store])
    if output != "-" { try rules.check(output) }
    try store.reading(evenUncaptured: true) { store in
      let bar = try LineProgress("exporting", progress, store, isQuiet: output == "-" && Output.isOnTerminal)
      defer { bar.end() }
      if form == .sqlite {
        return try NewStore(output).create { try PlainDatabase.write(store, to: $0, bar.step) }
      }
      guard output != "-" else { return try Output.run { output in try write(store, bar) { try output.write($0) } } }
      let file = try NewFile(output, rules)
      try write(store, bar) { try file.write(Array($0.utf8)) }
      try file.finish()
    }
  }

  private func write(_ store: Store, _ bar: LineProgress, _ take: (String) throws -> Void) throws {
    func sink(_ line: String) throws {
      bar.step()
      try take(line)
    }
    guard let type else { return try store.dump(.view, to: sink) }
    let schema = try store.schema
    let entity = try schema.entity(type: type)
    let columns = entity.columnNames
    try sink((["id"] + columns).joined(separator: ",") + "\r\n")
    try store.read { db in
      for name in try schema.names(db, of: type) {
        guard let record = try schema.record(db, name) else { continue }
        let values = columns.map { Self.csv(record.fields[$0] ?? .null) }
        try sink(([Self.quoted(name.text)] + values).joined(separator: ",") + "\r\n")
      }
    }
  }

  private static func csv(_ value: Value) -> String {
    switch value {
    case .null: ""
    case .integer(let number): String(number)
    case .real(let number): "\(number)"
    case .text(let text): quoted(text)
    case .blob(let bytes): Hexadecimal.text(bytes)
    }
  }

  private static func quoted(_ text: String) -> String {
    let needsQuotes = text.isEmpty || text.unicodeScalars.contains { ",\"\r\n".unicodeScalars.contains($0) }
    return needsQuotes ? "\"\(text.replacing("\"", with: "\"\""))\"" : text
  }
}

/// The rows of a store in a database that has nothing of Tally's.
private struct PlainDatabase {
  private let store: Store
  private let target: DatabaseQueue
  private let step: () -> Void

  /// - Throws: `DatabaseError` for the new file, `Failure` for the store.
  static func write(_ store: Store, to path: String, _ step: @escaping () -> Void) throws {
    let database = PlainDatabase(store: store, target: try DatabaseQueue(path: path), step: step)
    let schema = try store.schema
    try store.read { db in
      for entity in schema.entities {
        let columns = entity.fields.map { ($0.name, $0.kind.columnType) } + entity.references.map { ($0.name, "TEXT") }
        try database.copy(db, entity.type, [("id", "TEXT NOT NULL PRIMARY KEY")] + columns)
        for relationship in entity.relationships {
          try database.copy(
            db, "\(entity.type)_\(relationship.name)", [("source", "TEXT NOT NULL"), ("target", "TEXT NOT NULL")])
        }
      }
    }
    try database.target.close()
  }

  /// Names the store in an error of SQLite's, which would otherwise be taken for the new file's.
  private func reading<T>(_ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let error as DatabaseError {
      throw Failure(ExitStatus(of: error), "\(store.path): \(Failure.message(of: error))")
    }
  }

  private func copy(_ source: Database, _ table: String, _ columns: [(String, String)]) throws {
    let names = columns.map { "\"\($0.0)\"" }.joined(separator: ", ")
    // GRDB reads a text up to its first NUL, a blob whole.
    let values = columns.map {
      "typeof(\"\($0.0)\") = 'text', CASE typeof(\"\($0.0)\") WHEN 'text' THEN CAST(\"\($0.0)\" AS BLOB) ELSE \"\($0.0)\" END"
    }
    let rows = try reading {
      try Row.fetchCursor(source, sql: "SELECT \(values.joined(separator: ", ")) FROM \"\(table)\"")
    }
    let marks = columns.map { _ in "CASE ? WHEN 1 THEN CAST(? AS TEXT) ELSE ? END" }.joined(separator: ", ")
    try target.write { db in
      try db.execute(
        sql: "CREATE TABLE \"\(table)\"(\(columns.map { "\"\($0.0)\" \($0.1)" }.joined(separator: ", "))) STRICT")
      let insert = try db.makeStatement(sql: "INSERT INTO \"\(table)\"(\(names)) VALUES(\(marks))")
      while let row = try reading(rows.next) {
        step()
        let values = columns.indices.flatMap { place -> [DatabaseValue] in
          let value = row[2 * place + 1] as DatabaseValue
          return [row[2 * place] as DatabaseValue, value, value]
        }
        try insert.execute(arguments: StatementArguments(values))
      }
    }
  }
}
