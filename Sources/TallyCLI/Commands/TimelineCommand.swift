import ArgumentParser
import Tally
import TallyCRDT
import TallyInspection
import TallyStore

struct TimelineCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "timeline",
    abstract: "Prints the transactions of all replicas, the last to arrive first, and what each changed.",
    discussion: """
      A transaction whose changes were all overwritten can be missing, and one of many records can have several lines. Times are those \
      of the writers' clocks.

      Example: tally timeline scores.tally --limit 20
      """)

  @OptionGroup var store: StoreArguments
  @Option(help: "At most this many.") var limit = 50
  @Option(help: ArgumentHelp("Only those of one replica.", valueName: "ID")) var replica: String?
  @Flag(help: "Print one line of JSON each.") var json = false

  func validate() throws {
    guard limit >= 0 else { throw ValidationError("--limit is negative") }
    guard replica.map({ ReplicaID($0) != nil }) ?? true else { throw ValidationError("--replica is 32 digits") }
  }

  func run() throws {
    try store.reading { store in
      let schema = try store.schema
      let directory = try ReplicaDirectory([("this store", store)])
      try Output.run { output in
        var (left, before) = (limit, Int64.max)
        while left > 0 {
          let only = replica.flatMap { ReplicaID($0) }
          let page = try store.transactions(before: before, of: only, limit: min(left, 200))
          for transaction in page {
            let report = TimelineReport(transaction, schema)
            for line in json ? [try InspectionJSON.text(report)] : Self.lines(report, directory).map(printable) {
              try output.line(line)
            }
          }
          guard let last = page.last else { break }
          (left, before) = (left - page.count, last.place)
        }
      }
    }
  }

  private static func lines(_ report: TimelineReport, _ directory: ReplicaDirectory) -> [String] {
    let replica = ReplicaID(report.by).map { directory.name(of: $0) } ?? report.by
    var lines = ["\(report.at ?? "overwritten since")  \(replica) #\(report.sequence)"]
    for item in report.items {
      let link = item.relationship.map { " \($0) \(item.target ?? "")" } ?? ""
      let changes = item.changes.isEmpty ? "overwritten since" : item.changes.joined(separator: ", ")
      lines.append("  \(item.name)\(link): \(changes)")
    }
    switch report.itemCount {
    case nil: lines.append("  and many more")
    case let count? where count > report.items.count: lines.append("  and \(count - report.items.count) more")
    default: break
    }
    return lines
  }
}
