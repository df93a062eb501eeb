import ArgumentParser
import Foundation
import Tally
import TallyInspection

struct ReportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report",
    abstract: "Prints the state of a store as one JSON document, to go with a bug report.",
    discussion: """
      It holds the schema, counts, vectors, clocks, doubts and what is known of other devices; no values and no names of records or \
      devices unless --values asks for them. With --against it prints where this store and another device's report part, a line each: \
      in schema, vector, content or clock.

      Examples:
        tally report scores.tally > phone.json
        tally report tablet.tally --against phone.json
      """)

  @OptionGroup var store: StoreArguments
  @Flag(help: "Include values, names of records and of devices.") var values = false
  @Option(help: ArgumentHelp("Compare with a report of another device.", valueName: "FILE")) var against: String?

  func run() throws {
    let other = try against.map { try Self.report(in: $0) }
    try store.reading { store in
      let report = try StoreReport(of: store, at: Date.now, hasValues: values)
      try Output.run { output in
        guard let other else { return try output.line(InspectionJSON.text(report, isPretty: true)) }
        let findings = ReportComparison(report, other).findings
        for finding in findings { try output.line(printable("\(finding.about): \(finding.sentence)")) }
        if findings.isEmpty { try output.line("the reports agree") }
      }
    }
  }

  private static func report(in path: String) throws -> StoreReport {
    do {
      return try JSONDecoder().decode(StoreReport.self, from: try Data(contentsOf: URL(fileURLWithPath: path)))
    } catch let error as CocoaError
      where error.code == .fileReadNoSuchFile && !FileManager.default.fileExists(atPath: path)
    {
      throw Failure(.notFound, "there is no file \(path)")
    } catch is DecodingError {
      throw Failure(.badData, "\(path) is no report")
    } catch is CocoaError {
      throw Failure(.badData, "\(path) cannot be read as a report")
    }
  }
}
