import ArgumentParser
import Foundation
import Tally
import TallyStore

struct NewCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "new",
    abstract: "Creates a store from a schema.",
    discussion: """
      The schema is JSON:
        {"entities":[{"type":"SBGame","fields":{"name":"text","rating":"real"},
          "references":{"owner":{"to":"SBPerson","onDelete":"cascade"}},
          "relationships":{"players":{"to":"SBPerson"}}}]}
      Fields are \(FieldKind.allCases.map(\.rawValue).joined(separator: ", ")); onDelete is nullify, cascade or deny.
      A position names its reference: {"kind":"position","within":"list"}. A number may keep the greatest or the least: \
      {"kind":"integer","keep":"greatest"}. A relationship may be ordered: {"to":"Song","ordered":true}. Beside the fields \
      may stand "unique":[{"fields":["name"],"policy":"rename"}], with the policy clear, rename, merge or hide.

      Example: tally new scores.tally --schema schema.json
      """)

  @Argument(help: "The store's file; there must be none yet.") var store: String
  @Option(help: ArgumentHelp("The schema, or - for standard input.", valueName: "file")) var schema: String

  private static let schemaLimit = 16 << 20

  /// The schema in a file, or on standard input for `-`.
  static func schema(_ path: String) throws -> Schema {
    let bytes = try InputFile(path).readAll(limit: schemaLimit)
    try SchemaKeys.check(bytes)
    return try Schema(json: Data(bytes))
  }

  func run() throws {
    let schema = try Self.schema(schema)
    try NewStore(store).create { try Store(path: $0, schema: schema).close() }
  }
}
