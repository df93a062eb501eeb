import ArgumentParser
import Tally

struct SchemaCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schema",
    abstract: "Prints the store's schema as JSON, checks a newer one, or brings the store to it.",
    discussion: """
      Examples:
        tally schema a.tally > schema.json
        tally schema check a.tally newer.json
        tally schema upgrade a.tally newer.json
      """,
    subcommands: [ShowSchema.self, CheckSchema.self, UpgradeSchema.self], defaultSubcommand: ShowSchema.self)
}

struct ShowSchema: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Prints the store's schema as JSON.")

  @OptionGroup var store: StoreArguments

  func run() throws {
    try store.reading { store in
      let json = try store.schema.json()
      try Output.run { try $0.line(String(decoding: json, as: UTF8.self)) }
    }
  }
}

struct UpgradeSchema: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "upgrade",
    abstract: "Brings the store to a newer schema.",
    discussion: """
      What the new schema lacks stays; what it has more gets its tables and columns, and shows what newer peers had sent. A field may \
      not change its kind or default, a reference or relationship not its target (65); the store is then as it was.

      Example: tally schema upgrade scores.tally newer.json
      """)

  @Argument(help: "The store's file.") var store: String
  @Argument(help: "The new schema, or - for standard input.") var schema: String
  @OptionGroup var waiting: WaitingOptions

  func run() throws {
    let schema = try NewCommand.schema(schema)
    // A user who misspelt the name does not want a new store.
    let before: Schema?
    do {
      before = try OpenStore.reading(store, waiting.timeout) { try $0.schema }
    } catch let error as StoreError where error.code == .corrupt {
      // One that is lost is put back by opening the store with it.
      before = nil
    }
    try Output.requireOpen(besides: store)
    var options = StoreOptions()
    options.busyTimeout = waiting.timeout
    let upgraded = try Store(path: store, schema: schema, options: options)
    let after = try upgraded.schema
    try upgraded.close()
    try Output.run { try $0.line(after == before ? "nothing had to change" : "upgraded \(printable(store))") }
  }
}
