import ArgumentParser
import Tally
import TallyCRDT
import TallyStore

struct MergeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "merge",
    abstract: "Makes one record of those that have the same unique value.",
    discussion: """
      It does so under the rules of the schema whose policy is merge. References to a record that gave way show the one that \
      stays. Nothing is written over, and it is on all devices what it is here after a sync. Without anything to merge it \
      changes nothing.

      Example: tally merge recipes.tally
      """)

  @OptionGroup var store: StoreArguments
  @Flag(help: "Print one line of JSON.") var json = false

  func run() throws {
    try store.writing { store in
      let report = try store.mergeDuplicates()
      try Output.run { output in
        guard !json else { return try output.line(report.json.text) }
        for (name, other) in report.merged.sorted(by: { $0.key < $1.key }) {
          try output.line("merged \(name) into \(other)")
        }
        for name in report.restored { try output.line("restored \(name)") }
        if report.members > 0 { try output.line("moved \(count(report.members, "member"))") }
        if report.isEmpty { try output.line("nothing to merge") }
      }
    }
  }
}

extension DuplicateReport {
  fileprivate var json: JSON {
    let merged = merged.sorted { $0.key < $1.key }.map { name, other -> JSON in
      .object(["name": .string(name.text), "into": .string(other.text)])
    }
    return .object([
      "merged": .array(merged), "restored": .array(restored.map { .string($0.text) }),
      "members": .integer(members),
    ])
  }
}
