import ArgumentParser
import Foundation
import Tally
import TallyStore

struct SeedCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "seed",
    abstract: "Brings a set of default data into the store.",
    discussion: """
      The set is JSON:
        {"name":"speech-types","version":2,
          "records":[{"key":"toast","type":"SpeechType",
            "fields":{"name":"Toast","seconds":120},
            "references":{"category":"short"},"relationships":{"tags":["a"]}}],
          "retired":[{"key":"roast","type":"SpeechType"}],
          "adoptions":[{"type":"SpeechType","matching":["name"],
            "present":["createdAt"],"absent":["updatedAt"]}]}
      Values are those of tally dump --view; what is empty may be missing.

      Every store that seeds one version makes the same records: they never appear twice. What somebody edited stays as it is, \
      what somebody deleted does not return. Seeding again changes nothing. The exit code is 65 if the set breaks a rule, does \
      not fit the store's schema, or has a lower version than the one that was seeded here.

      Example: tally seed speeches.tally --set speech-types.json
      """)

  @OptionGroup var store: StoreArguments
  @Option(help: ArgumentHelp("The set, or - for standard input.", valueName: "file")) var set: String

  private static let sizeLimit = 64 << 20

  func run() throws {
    let set = try seedSet()
    try store.writing { store in
      let report = try store.seed(set)
      try Output.run { output in
        let name = printable("\(set.name) version \(set.version)")
        let retired = set.retired.isEmpty ? "" : ", \(set.retired.count) retired"
        try output.line(
          report.isNew ? "seeded \(name): \(count(set.records.count, "record"))\(retired)" : "\(name) is here already")
        for name in report.adopted { try output.line("adopted \(name)") }
      }
    }
  }

  private func seedSet() throws -> SeedSet {
    let bytes = try InputFile(set).readAll(limit: Self.sizeLimit)
    // Stricter than the library's decoder: a key that comes twice is a mistake.
    _ = try JSONParser.parse(bytes)
    return try SeedSet(json: Data(bytes))
  }
}

struct SeedsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "seeds",
    abstract: "Prints which sets of default data are in the store.",
    discussion: """
      For each set the versions that are here, from this store's app or from peers, each with the replica that its content \
      hashes to. Two builds that ship different content under one version have two.

      Example: tally seeds speeches.tally --json
      """)

  @OptionGroup var store: StoreArguments
  @Flag(help: "Print one line of JSON for each set.") var json = false

  func run() throws {
    try store.reading { store in
      let sets = try store.seedSets()
      try Output.run { output in
        for set in sets { for line in json ? [set.json.text] : set.lines.map(printable) { try output.line(line) } }
      }
    }
  }
}

extension SeedSetStatus {
  var json: JSON {
    let versions = versions.map { version -> JSON in
      .object([
        "version": .integer(version.version), "records": .integer(version.records),
        "replica": .string(version.replica.description),
      ])
    }
    return .object([
      "name": .string(name), "applied": applied.map(JSON.integer) ?? .null, "versions": .array(versions),
    ])
  }

  fileprivate var lines: [String] {
    let origin = applied.map { "version \($0) seeded here" } ?? "from peers"
    return ["\(name)  \(origin)"]
      + versions.map { "  version \($0.version)  \($0.replica)  \(count($0.records, "record"))" }
  }
}
