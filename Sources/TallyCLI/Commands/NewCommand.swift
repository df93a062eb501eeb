import ArgumentParser
import Foundation
import Tally

struct NewCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "new",
    abstract: "Creates a store from a schema.",
    discussion: """
      The schema is JSON: {"entities":[{"type":"SBGame","fields":{"name":"text","rating":"real"}, \
      "references":{"owner":{"to":"SBPerson","onDelete":"cascade"}},"relationships":{"players":{"to":"SBPerson"}}}]}.
      Fields are \(FieldKind.allCases.map(\.rawValue).joined(separator: ", ")); onDelete is nullify, cascade or deny.

      Example: tally new scores.tally --schema schema.json
      """)

  @Argument(help: "The store's file; there must be none yet.") var store: String
  @Option(help: ArgumentHelp("The schema, or - for standard input.", valueName: "file")) var schema: String

  private static let schemaLimit = 16 << 20

  func run() throws {
    let bytes = try InputFile(schema).readAll(limit: Self.schemaLimit)
    try SchemaKeys.check(bytes)
    let schema = try Schema(json: Data(bytes))
    try NewStore(store).create { try Store(path: $0, schema: schema).close() }
  }
}
